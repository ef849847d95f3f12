//! The table of programs that are known to be read-only, as data.
//!
//! A program is in it only if none of its options, or none but those listed, writes a file, changes the
//! system, reaches the network or runs another program.

use super::special;
use crate::rights::command::Word;

/// A program of the table.
pub(super) struct Program {
    /// Its name.
    pub(super) name: &'static str,
    /// Which arguments are harmless.
    pub(super) check: Check,
    /// Which files it reads.
    pub(super) reads: Reads,
}

/// Which arguments of a program are harmless.
pub(super) enum Check {
    /// All.
    Anything,
    /// All but these options.
    Except(&'static [&'static str]),
    /// Nothing but one of these words: the question for its version.
    Only(&'static [&'static str]),
    /// Those in which this function finds nothing to object to.
    Special(fn(&[Word]) -> Option<&Word>),
}

/// Which files a program shows the content of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// None.
    Nothing,
    /// Those that its arguments name.
    Named,
    /// Those that its arguments name and all below them.
    Below,
}

/// The program of that name.
pub(super) fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

const fn any(name: &'static str, reads: Reads) -> Program {
    Program { name, check: Check::Anything, reads }
}

const fn except(name: &'static str, reads: Reads, options: &'static [&'static str]) -> Program {
    Program { name, check: Check::Except(options), reads }
}

const fn special(name: &'static str, reads: Reads, judge: fn(&[Word]) -> Option<&Word>) -> Program {
    Program { name, check: Check::Special(judge), reads }
}

const fn version(name: &'static str, words: &'static [&'static str]) -> Program {
    Program { name, check: Check::Only(words), reads: Nothing }
}

use Reads::{Below, Named, Nothing};

const PROGRAMS: &[Program] = &[
    // What the shell does itself.
    any(":", Nothing),
    special("break", Nothing, special::count),
    special("cd", Nothing, special::cd),
    special("continue", Nothing, special::count),
    any("echo", Nothing),
    special("exit", Nothing, special::count),
    any("false", Nothing),
    special("printf", Nothing, special::printf),
    any("pwd", Nothing),
    special("read", Nothing, special::read),
    special("return", Nothing, special::count),
    special("set", Nothing, special::set),
    special("[", Nothing, special::test),
    special("test", Nothing, special::test),
    any("true", Nothing),
    any("type", Nothing),
    special("wait", Nothing, special::wait),
    // Files as text.
    any("cat", Named),
    any("tac", Named),
    any("head", Named),
    any("tail", Named),
    any("nl", Named),
    any("wc", Named),
    any("cut", Named),
    any("paste", Named),
    any("tr", Nothing),
    any("rev", Named),
    any("fold", Named),
    any("fmt", Named),
    any("pr", Named),
    any("expand", Named),
    any("unexpand", Named),
    any("column", Named),
    any("comm", Named),
    any("join", Named),
    any("cmp", Named),
    any("diff", Below),
    any("grep", Named),
    any("egrep", Named),
    any("fgrep", Named),
    any("jq", Named),
    any("od", Named),
    any("hexdump", Named),
    any("strings", Named),
    any("zcat", Named),
    any("xzcat", Named),
    any("bzcat", Named),
    any("numfmt", Nothing),
    any("tsort", Named),
    any("md5sum", Named),
    any("sha1sum", Named),
    any("sha224sum", Named),
    any("sha256sum", Named),
    any("sha384sum", Named),
    any("sha512sum", Named),
    any("b2sum", Named),
    any("cksum", Named),
    except("base64", Named, &["-o", "--output"]),
    except("base32", Named, &["-o", "--output"]),
    except("iconv", Named, &["-o", "--output"]),
    except("shuf", Named, &["-o", "--output"]),
    except("sort", Named, &["-o", "--output", "--compress-program", "--files0-from"]),
    except("rg", Below, &["--pre", "--hostname-bin", "-z", "--search-zip"]),
    special("sed", Named, super::sed::judge),
    special("awk", Named, special::awk),
    special("gawk", Named, special::awk),
    special("mawk", Named, special::awk),
    special("uniq", Named, special::uniq),
    // Files as such.
    any("ls", Nothing),
    any("dir", Nothing),
    any("vdir", Nothing),
    any("stat", Nothing),
    any("du", Nothing),
    any("df", Nothing),
    any("basename", Nothing),
    any("dirname", Nothing),
    any("realpath", Nothing),
    any("readlink", Nothing),
    except(
        "file",
        Nothing,
        &["-C", "--compile", "-z", "-Z", "--uncompress", "--uncompress-noreport"],
    ),
    except("tree", Nothing, &["-o", "--output", "-R"]),
    except("fd", Nothing, &["-x", "-X", "--exec", "--exec-batch"]),
    except("fdfind", Nothing, &["-x", "-X", "--exec", "--exec-batch"]),
    special("tar", Named, special::tar),
    special("unzip", Named, special::unzip),
    // The system.
    any("arch", Nothing),
    any("cal", Nothing),
    special("date", Nothing, special::date),
    any("expr", Nothing),
    any("factor", Nothing),
    any("free", Nothing),
    any("getconf", Nothing),
    any("groups", Nothing),
    special("hostname", Nothing, special::no_operand),
    any("id", Nothing),
    any("locale", Nothing),
    any("logname", Nothing),
    any("lsblk", Nothing),
    any("lscpu", Nothing),
    any("nproc", Nothing),
    any("pgrep", Nothing),
    any("printenv", Nothing),
    any("ps", Nothing),
    any("seq", Nothing),
    any("sleep", Nothing),
    any("tty", Nothing),
    any("uname", Nothing),
    any("uptime", Nothing),
    any("users", Nothing),
    any("whereis", Nothing),
    any("which", Nothing),
    any("who", Nothing),
    any("whoami", Nothing),
    // Which version it is. Other words run scripts in some of them: `python -v`, `node version`.
    version("bash", &["--version"]),
    version("bun", &["--version"]),
    version("cargo", &["--version", "-V", "version"]),
    version("clang", &["--version"]),
    version("cmake", &["--version"]),
    version("deno", &["--version"]),
    version("docker", &["--version"]),
    version("g++", &["--version"]),
    version("gcc", &["--version"]),
    version("gh", &["--version"]),
    version("go", &["version"]),
    version("java", &["--version", "-version"]),
    version("javac", &["--version", "-version"]),
    version("make", &["--version", "-v"]),
    version("node", &["--version", "-v"]),
    version("npm", &["--version", "-v"]),
    version("perl", &["--version", "-v"]),
    version("php", &["--version", "-v"]),
    version("pip", &["--version", "-V"]),
    version("pip3", &["--version", "-V"]),
    version("python", &["--version", "-V"]),
    version("python3", &["--version", "-V"]),
    version("ruby", &["--version", "-v"]),
    version("rustc", &["--version", "-V"]),
    version("rustup", &["--version", "-V"]),
    version("uv", &["--version", "-V"]),
];
