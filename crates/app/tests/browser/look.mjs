// Opens the pages that a test wrote in a headless Chromium, uses them, and says what is wrong with them.
// Arguments: the folder of the pages, and the folder for screenshots.
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import puppeteer from 'puppeteer-core';

const [pages, shots] = process.argv.slice(2);
const browser = await puppeteer.launch({
  args: puppeteer.defaultArgs({ args: chromium.args, headless: 'shell' }),
  executablePath: await chromium.executablePath(),
  headless: 'shell',
  pipe: true,
});

async function open(name, scheme) {
  const page = await browser.newPage();
  const troubles = [];
  const loaded = [];
  page.on('pageerror', error => troubles.push(String(error)));
  page.on('console', message => { if (message.type() === 'error') troubles.push(message.text()); });
  page.on('dialog', dialog => { troubles.push(dialog.message()); dialog.dismiss(); });
  page.on('request', request => loaded.push(request.url()));
  await page.setViewport({ width: 1280, height: 800 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  const address = pathToFileURL(join(pages, name)).href;
  await page.goto(address);
  await page.waitForSelector('html[data-ready=yes]');
  assert.deepEqual(loaded, [address], 'the page loads nothing but itself');
  assert.deepEqual(troubles, []);
  return { page, troubles };
}
const shown = page => page.$$eval('.run', runs => runs.filter(run => !run.hidden).length);
const back = page => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

try {
  const { page, troubles } = await open('family.html', 'light');
  assert.equal(await shown(page), 8);
  assert.equal(await page.$eval('#title', title => title.textContent), 'boss: Do it all');
  assert.match(await page.$eval('#sum', sum => sum.textContent), /^8 agents · 49\.0 s · /);

  // Hostile text is text.
  assert.notEqual(await page.title(), 'owned');
  assert.equal(await page.$$eval('img, main i b, main b i', found => found.length), 0);
  const evil = await page.$$eval('.label', labels => labels.map(label => label.textContent).find(text => text.includes('evil')));
  assert.ok(evil.includes('</script>') && evil.includes('\\u202e') && !evil.includes('\u202e'), evil);

  // Bars stand where their runs do.
  const [left, width] = await page.$$eval('.lane', lanes => {
    const lane = lanes[1].getBoundingClientRect();
    const bar = lanes[1].firstElementChild.getBoundingClientRect();
    return [(bar.left - lane.left) / lane.width, bar.width / lane.width];
  });
  assert.ok(Math.abs(left - 1000 / 49020) < 0.005 && Math.abs(width - 3804 / 49020) < 0.005, `${left} ${width}`);
  assert.ok(await page.$$eval('.lane .call', calls => calls.some(call => call.title.startsWith('grep_files'))));

  // Keys: search, move, open, close.
  await page.keyboard.press('/');
  await page.keyboard.type('timeout');
  await page.waitForFunction(() => document.getElementById('found').textContent === '1 of 8');
  assert.equal(await shown(page), 1);
  await page.keyboard.press('Escape');
  assert.equal(await shown(page), 8);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  const body = await page.$eval('.run:nth-child(2) .body', body => body.textContent);
  assert.ok(body.includes('I look for it.') && body.includes('agent-a'), body);
  assert.equal(await page.$$eval('.body', bodies => bodies.length), 1);
  await page.$eval('.run:nth-child(2) details.result', result => { result.open = true; });
  await page.waitForFunction(() => document.querySelector('.run:nth-child(2) details.result pre')?.textContent.includes('ToolFilter'));
  await page.screenshot({ path: join(shots, 'light.png') });
  await page.keyboard.press('Enter');
  assert.equal(await page.$eval('.run:nth-child(2) .body', body => body.hidden), true);
  await page.click('#unwell');
  assert.equal(await shown(page), 2);
  await page.click('#unwell');

  // Light and dark, as the system has it and as the reader wants it.
  const light = await back(page);
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
  const dark = await back(page);
  assert.notEqual(light, dark);
  await page.click('#theme');
  assert.equal(await back(page), light);
  await page.click('#theme');
  assert.equal(await back(page), dark);
  await page.screenshot({ path: join(shots, 'dark.png') });
  await page.setViewport({ width: 400, height: 700 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 400), 'a narrow screen does not scroll sideways');
  await page.screenshot({ path: join(shots, 'narrow.png') });

  // The policy of the page: what is added to it does not run.
  assert.deepEqual(troubles, []);
  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.added = true';
    document.head.append(script);
    return window.added === true;
  });
  assert.equal(ran, false);
  await page.close();

  // Many runs: what is not on the screen is not drawn.
  const began = performance.now();
  const many = await open('thousand.html', 'dark');
  const took = Math.round(performance.now() - began);
  assert.equal(await shown(many.page), 1001);
  const drawn = await many.page.$$eval('.lane', lanes => lanes.filter(lane => lane.firstChild).length);
  assert.ok(drawn > 10 && drawn < 300, `${drawn} lanes are drawn`);
  await many.page.screenshot({ path: join(shots, 'thousand.png') });
  console.log(`looked at the pages in ${await browser.version()}; 1,001 runs open in ${took} ms, ${drawn} lanes drawn`);
} finally {
  await browser.close();
}
