// Draws the runs of the page from the data that is embedded in it.
// Text is only ever put in as text: nothing that a model, a tool or a file says becomes markup.
'use strict';
(() => {
  const { tree, items } = JSON.parse(document.getElementById('data').textContent);
  const byId = id => document.getElementById(id);
  const whole = Math.max(tree.duration_ms, 1);
  const escapes = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

  // Characters that nobody can see, or that turn the direction of text, are written out.
  const visible = text =>
    String(text).replace(/\r\n/g, '\n').replace(escapes, letter => '\\u' + letter.charCodeAt(0).toString(16).padStart(4, '0'));

  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = visible(text);
    return element;
  };
  const time = ms => ms < 1000 ? `${ms} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60000)} min ${Math.floor(ms % 60000 / 1000)} s`;
  const grouped = number => number.toLocaleString('en-US');
  const money = usd => usd === null ? 'unknown' : usd > 0 && usd < 0.00005 ? '< $0.0001' : `$${usd.toFixed(4)}`;
  const marks = { goal: '✓', running: '●', queued: '◌', interrupted: '!', gone: '!' };
  const kindOf = run => run.status === 'goal' ? 'goal' : run.status === 'running' || run.status === 'queued' ? 'open' : 'failed';

  const root = tree.runs[0];
  byId('title').textContent = visible(`${root.agent_type}: ${root.description}`);
  byId('sum').textContent = `${tree.agents} ${tree.agents === 1 ? 'agent' : 'agents'} · ${time(tree.duration_ms)} · ${grouped(tree.total_tokens)} tokens · cost ${money(tree.cost_usd)} · ${visible(root.status)} · ${visible(tree.started_at)}`;
  for (let part = 0; part <= 4; part++) {
    const tick = make('span', '', time(Math.round(whole * part / 4)));
    tick.style.left = `${part * 25}%`;
    byId('ticks').append(tick);
  }

  const bar = (lane, className, begin, end, title) => {
    const drawn = make('i', className);
    drawn.style.left = `${100 * begin / whole}%`;
    drawn.style.width = `${Math.max(100 * (end - begin) / whole, 0.05)}%`;
    if (title) drawn.title = visible(title);
    lane.append(drawn);
  };

  const drawLane = (lane, run) => {
    bar(lane, '', run.begin_ms, run.end_ms, `${run.status}, ${time(run.end_ms - run.begin_ms)}`);
    if (run.work_ms > run.begin_ms) bar(lane, 'wait', run.begin_ms, run.work_ms, `queued ${time(run.work_ms - run.begin_ms)}`);
    for (const span of run.spans) {
      const name = span.kind === 'turn' ? `turn ${span.name}` : span.name;
      bar(lane, `${span.kind}${span.ok ? '' : ' bad'}`, span.begin_ms, span.end_ms, `${name}, ${time(span.end_ms - span.begin_ms)}`);
    }
  };

  const fill = (pre, item) => {
    if (item.kind !== 'diff') {
      pre.textContent = visible(item.text);
      return;
    }
    for (const line of item.text.replace(/\n$/, '').split('\n')) {
      const className = line.startsWith('+') ? 'add' : line.startsWith('-') ? 'del' : line.startsWith('@@') ? 'at' : '';
      const drawn = make('span', className, line);
      pre.append(drawn);
      if (!className) pre.append('\n');
    }
  };

  const openKinds = new Set(['text', 'user', 'end', 'note']);
  const drawItem = item => {
    const bad = item.ok ? '' : ' bad';
    const head = `${time(item.at_ms)}  ${item.title}`;
    if (openKinds.has(item.kind) || !item.text) {
      const drawn = make('div', `item ${item.kind}${bad}`);
      drawn.append(make('div', 'name', head));
      if (item.text) {
        const pre = make('pre');
        fill(pre, item);
        drawn.append(pre);
      }
      return drawn;
    }
    const drawn = make('details', `item ${item.kind}${bad}`);
    drawn.append(make('summary', '', head));
    const show = () => {
      if (!drawn.open || drawn.lastChild.nodeName === 'PRE') return;
      const pre = make('pre');
      fill(pre, item);
      drawn.append(pre);
    };
    drawn.addEventListener('toggle', show);
    // A diff is what most readers look for.
    drawn.open = item.kind === 'diff';
    show();
    return drawn;
  };

  const rows = tree.runs.map((run, index) => {
    const element = make('section', `run ${kindOf(run)}`);
    const head = make('div', 'head');
    head.tabIndex = index === 0 ? 0 : -1;
    head.setAttribute('role', 'button');
    head.setAttribute('aria-expanded', 'false');
    const label = make('div', 'label');
    label.style.paddingInlineStart = `${Math.min(run.level, 12) * 16}px`;
    label.append(make('span', 'mark', marks[run.status] || '✗'));
    label.append(make('b', '', `${run.resumed_from ? '↻ ' : ''}${run.agent_type}`));
    label.append(make('span', '', run.description ? `  ${run.description}` : ''));
    label.title = visible(`${run.agent_id}\n${run.description}`);
    const lane = make('div', 'lane');
    const numbers = make('div', 'numbers');
    if (kindOf(run) === 'failed') numbers.append(make('b', '', `${run.status} `));
    numbers.append(`${time(run.end_ms - run.begin_ms)} · ${run.turns} t · ${grouped(run.total_tokens)} tok`);
    head.append(label, lane, numbers);
    element.append(head);
    return { run, element, head, lane, drawn: false, body: null, words: null };
  });
  byId('runs').append(...rows.map(row => row.element));

  // A lane is drawn when it comes near the screen.
  const rowOf = new Map(rows.map(row => [row.element, row]));
  const watcher = new IntersectionObserver(seen => {
    for (const { target, isIntersecting } of seen) {
      const row = rowOf.get(target);
      if (isIntersecting && !row.drawn) {
        row.drawn = true;
        drawLane(row.lane, row.run);
        watcher.unobserve(target);
      }
    }
  }, { rootMargin: '600px' });
  rows.forEach(row => watcher.observe(row.element));

  const drawBody = row => {
    const { run } = row;
    const body = make('div', 'body');
    const facts = make('dl');
    const fact = (name, value) => {
      if (value === null || value === undefined || value === '') return;
      const shown = make('dd', '', value);
      shown.dir = 'auto';
      facts.append(make('dt', '', name), shown);
    };
    fact('run', run.agent_id);
    fact('asked by', run.parent_id);
    fact('continues', run.resumed_from);
    fact('model', run.model);
    fact('status', run.status);
    fact('started', run.started_at);
    fact('calls', run.tool_uses);
    fact('cost', money(run.cost_usd));
    fact('error', run.error);
    body.append(facts);
    body.append(...(items[run.agent_id] || []).map(drawItem));
    return body;
  };

  const toggle = (row, open) => {
    const isOpen = row.body !== null && !row.body.hidden;
    const opens = open === undefined ? !isOpen : open;
    if (opens && row.body === null) {
      row.body = drawBody(row);
      row.element.append(row.body);
      mark(row);
    }
    if (row.body !== null) row.body.hidden = !opens;
    row.head.setAttribute('aria-expanded', String(opens));
  };

  let sought = '';
  const wordsOf = row => {
    if (row.words === null) {
      const { run } = row;
      const texts = (items[run.agent_id] || []).map(item => `${item.title}\n${item.text}`);
      row.words = [run.agent_id, run.agent_type, run.description, run.status, run.model, run.error || '', ...texts].join('\n').toLowerCase();
    }
    return row.words;
  };
  const mark = row => {
    if (row.body === null) return;
    const drawn = row.body.querySelectorAll('.item');
    (items[row.run.agent_id] || []).forEach((item, index) => {
      const hit = sought !== '' && `${item.title}\n${item.text}`.toLowerCase().includes(sought);
      if (drawn[index]) drawn[index].classList.toggle('hit', hit);
    });
  };
  const search = () => {
    sought = byId('search').value.trim().toLowerCase();
    const unwell = byId('unwell').checked;
    let shown = 0;
    for (const row of rows) {
      const matches = (sought === '' || wordsOf(row).includes(sought)) && !(unwell && row.run.status === 'goal');
      row.element.hidden = !matches;
      if (matches) shown++;
      mark(row);
    }
    byId('found').textContent = sought === '' && !unwell ? '' : `${shown} of ${rows.length}`;
  };
  let waiting = 0;
  byId('search').addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 80);
  });
  byId('unwell').addEventListener('change', search);

  const themes = ['', 'light', 'dark'];
  const turn = () => {
    const now = document.documentElement.dataset.theme || '';
    const next = themes[(themes.indexOf(now) + 1) % themes.length];
    if (next === '') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    byId('theme').textContent = next === '' ? 'Theme' : `Theme: ${next}`;
  };
  byId('theme').addEventListener('click', turn);

  byId('runs').addEventListener('click', event => {
    const head = event.target.closest('.head');
    if (head) toggle(rowOf.get(head.parentElement));
  });
  const move = step => {
    const shown = rows.filter(row => !row.element.hidden);
    const now = shown.findIndex(row => row.head === document.activeElement);
    const next = shown[Math.min(Math.max(now + step, 0), shown.length - 1)];
    if (next) {
      rows.forEach(row => { row.head.tabIndex = -1; });
      next.head.tabIndex = 0;
      next.head.focus();
      next.head.scrollIntoView({ block: 'nearest' });
    }
  };
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target === byId('search');
    const focused = rows.find(row => row.head === document.activeElement);
    if (event.key === 'Escape') {
      byId('search').value = '';
      search();
      byId('search').blur();
    } else if (typing) {
      if (event.key === 'Enter' || event.key === 'ArrowDown') { event.preventDefault(); search(); byId('search').blur(); move(1); }
    } else if (event.key === '/') {
      event.preventDefault();
      byId('search').focus();
    } else if (event.key === 'j' || event.key === 'ArrowDown') {
      event.preventDefault();
      move(1);
    } else if (event.key === 'k' || event.key === 'ArrowUp') {
      event.preventDefault();
      move(-1);
    } else if ((event.key === 'Enter' || event.key === ' ') && focused) {
      event.preventDefault();
      toggle(focused);
    } else if (event.key === 't') {
      turn();
    }
  });
  if (rows.length === 1) toggle(rows[0], true);
  if (location.hash.startsWith('#open')) rows.slice(0, 20).forEach(row => toggle(row, true));
  document.documentElement.dataset.ready = 'yes';
})();
