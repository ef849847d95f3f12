//! Small projects in several languages: the right file, the right line, and who uses it.

use attache_testkit::driving::project;

use super::asked;

fn check(files: &[(&str, &str)], task: &str, place: &str, user: &str) {
    let folder = project(files);
    let report = asked(folder.path(), task);
    let first = report.lines().next().unwrap();
    let (path, line) = place.rsplit_once(':').unwrap();
    assert!(first.contains(path) && first.contains(&format!("line {line}")), "{report}");
    assert!(super::section(&report, "Where").contains(place), "{report}");
    assert!(super::section(&report, "Used by").contains(user), "{report}");
}

#[test]
fn python() {
    check(
        &[
            (
                "app/token_store.py",
                "import json\n\n\nclass TokenStore:\n    def save(self):\n        pass\n",
            ),
            ("app/main.py", "from app.token_store import TokenStore\n\nstore = TokenStore()\n"),
            (
                "tests/test_token_store.py",
                "from app.token_store import TokenStore\n\ndef test_save():\n    TokenStore().save()\n",
            ),
            ("README.md", "The token store keeps tokens. TokenStore TokenStore token store.\n"),
        ],
        "Where is the token store defined and who uses it?",
        "app/token_store.py:4",
        "app/main.py:3",
    );
}

#[test]
fn typescript() {
    check(
        &[
            (
                "src/http/rateLimiter.ts",
                "type Key = string;\n\nexport class RateLimiter {\n  take(key: Key) {}\n}\n",
            ),
            (
                "src/server.ts",
                "import { RateLimiter } from './http/rateLimiter';\nconst limiter = new RateLimiter();\n",
            ),
            ("src/__tests__/rateLimiter.spec.ts", "new RateLimiter().take('a');\n"),
            ("dist/server.min.js", "class RateLimiter{take(){}}\n"),
            ("package.json", "{\"name\": \"x\"}\n"),
        ],
        "how does the rate limiter work, and what calls it?",
        "src/http/rateLimiter.ts:3",
        "src/server.ts:2",
    );
}

#[test]
fn go() {
    check(
        &[
            ("go.mod", "module x\n"),
            (
                "internal/session/session.go",
                "package session\n\n// RefreshSession renews it.\nfunc (s *Store) RefreshSession(id string) error {\n\treturn nil\n}\n",
            ),
            (
                "cmd/main.go",
                "package main\n\nfunc main() {\n\tstore.RefreshSession(\"a\")\n\t_ = session.New()\n}\n",
            ),
            ("vendor/other/session.go", "package other\nfunc RefreshSession() {}\n"),
        ],
        "where do we refresh sessions?",
        "internal/session/session.go:4",
        "cmd/main.go:4",
    );
}

#[test]
fn java() {
    check(
        &[
            (
                "src/main/java/shop/InvoiceService.java",
                "package shop;\n\npublic class InvoiceService {\n    public Invoice createInvoice(Order order) {\n        return null;\n    }\n}\n",
            ),
            (
                "src/main/java/shop/Checkout.java",
                "package shop;\n\nclass Checkout {\n    void pay() {\n        service.createInvoice(order);\n    }\n}\n",
            ),
            (
                "src/test/java/shop/InvoiceServiceTest.java",
                "class InvoiceServiceTest { void t() { service.createInvoice(null); } }\n",
            ),
        ],
        "who calls `createInvoice`?",
        "src/main/java/shop/InvoiceService.java:4",
        "src/main/java/shop/Checkout.java:5",
    );
}

#[test]
fn c() {
    check(
        &[
            ("ring.h", "int ring_push(struct ring *r, int v);\n"),
            (
                "ring.c",
                "#include \"ring.h\"\n\nint ring_push(struct ring *r, int v)\n{\n  return 0;\n}\n",
            ),
            ("main.c", "#include \"ring.h\"\n\nint main(void)\n{\n  ring_push(&r, 1);\n}\n"),
        ],
        "where is ring_push implemented and used?",
        "ring.c:3",
        "main.c:5",
    );
}

#[test]
fn questions_in_other_languages() {
    let folder = project(&[
        ("src/werkzeugfilter.rs", "/// Der Werkzeugfilter.\npub struct Werkzeugfilter;\n"),
        ("src/lib.rs", "pub mod werkzeugfilter;\n// 工具过滤器 lives in the module\n"),
        ("src/größe.py", "def größe_messen():\n    pass\n"),
    ]);
    let german = asked(folder.path(), "Wo ist der Werkzeugfilter implementiert?");
    assert!(german.contains("src/werkzeugfilter.rs:2"), "{german}");
    let umlaut = asked(folder.path(), "Wo wird die Größe gemessen?");
    assert!(umlaut.contains("größe.py"), "{umlaut}");
    let chinese = asked(folder.path(), "工具过滤器在哪里实现？");
    assert!(chinese.contains("src/lib.rs:2"), "{chinese}");
    let mixed = asked(folder.path(), "Werkzeugfilter在哪里定义？");
    assert!(mixed.contains("src/werkzeugfilter.rs:2"), "{mixed}");
}
