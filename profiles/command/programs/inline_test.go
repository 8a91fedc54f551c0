package programs

import (
	"strings"
	"testing"
)

func TestStarts(t *testing.T) {
	for language, texts := range starting() {
		for _, text := range texts {
			if _, starts := inlineStarts(language, text); !starts {
				t.Errorf("%s: nothing is seen in %q", language, text)
			}
		}
	}
	if _, starts := inlineStarts("python", strings.Repeat("x", mostInline+1)); !starts {
		t.Error("a text that is too long is read as harmless")
	}
	if _, starts := inlineStarts("nobody's", "system"); !starts {
		t.Error("a language that nobody knows is read as harmless")
	}
}

func TestStartsNothing(t *testing.T) {
	for language, texts := range inlineHarmless() {
		for _, text := range texts {
			if what, starts := inlineStarts(language, text); starts {
				t.Errorf("%s: %q is refused for %q", language, text, what)
			}
		}
	}
}

func starting() map[string][]string {
	return map[string][]string{
		"python": {
			`import os; os.system("id")`, `import os as o; o.system("id")`, `from os import system; system("id")`, `from os import *; system("id")`, `import subprocess`, `from subprocess import run`, `import os; os.popen("id")`, `import os; os.execv("/bin/id",["id"])`, `import os; os.execlp("id","id")`,
			`import os; os.spawnl(0,"id")`, `import os; os.posix_spawn("id",[],{})`, `import os; os.fork()`, `import pty; pty.spawn("sh")`, `import pexpect`, `import multiprocessing`, `__import__("os")`, `import importlib`, `import ctypes`, `exec(input())`, `eval(input())`, `import builtins`, `import os; vars(os)["system"]`,
			`import os; os.__dict__["system"]("id")`, `import sys; sys.modules["os"]`, `import os; f=os.system; f("id")`, `from concurrent.futures import ProcessPoolExecutor`, `import asyncio; asyncio.create_subprocess_exec("id")`, `import pickle; pickle.loads(b"")`, `import runpy; runpy.run_path("x")`, `[].__class__.__base__.__subclasses__()`,
			`from operator import methodcaller`, `import webbrowser`, `import code; code.interact()`, `import posix`, `import os; os.startfile("x")`, `breakpoint()`, `import cffi`, `import commands; commands.getoutput("id")`, `import os; getattr(os,"sys"+"tem")("id")`, `import marshal`,
		},
		"perl": {
			`system("id")`, `system 'id'`, `exec "id"`, `exec('id')`, "`id`", `qx(id)`, `qx/id/`, `open(F,"id|")`, `open(F,"|id")`, `open F, "-|", "id"`, `open(my $f, '|-', 'id')`, `eval $x`, `eval "sys"."tem(1)"`, `use IPC::Open3`, `fork`, `syscall(1)`, `print 1; system "id"`, `do "x.pl"`, `require "x"`, `&{"sys"}()`, `CORE::system("id")`, `if(1){exec "id"}`, `readpipe("id")`,
			`s/a/b/ee`, `open(F,$ARGV[0])`, `use POSIX; POSIX::execl("id")`, `/(?{ 1 })/`, `exec $x`, `system @ARGV`, `1 and system "id"`, `system id`,
		},
		"ruby":    {`system("id")`, `system "id"`, `exec "id"`, "`id`", `%x(id)`, `%x{id}`, `IO.popen("id")`, `spawn("id")`, `Kernel.system("id")`, `open("|id")`, `require "open3"; Open3.capture2("id")`, `send(:system,"id")`, `Process.spawn("id")`, `eval("x")`, `fork { }`, `require "pty"; PTY.spawn("id")`, `IO.read("|id")`, `puts 1; system 'id'`, `method(:system).call("id")`},
		"node":    {`require("child_process")`, `require('node:child_process')`, `import("child_process")`, `require("child_"+"process")`, `require(x)`, `process.binding("spawn_sync")`, `process.mainModule.require("x")`, `eval("x")`, `new Function("x")`, `globalThis["eval"]`, `require("vm")`, `require("worker_threads")`, `[].constructor.constructor("x")()`, `process["binding"]`, `require('child\x5fprocess')`, `process.dlopen({}, "x")`, `const {execSync}=x; execSync("id")`, `Bun.spawn(["id"])`, `new Deno.Command("id")`, `process.getBuiltinModule("x")`, `require("module")._load("x")`, `Reflect.get(process,"x")`, `const r=require;r("child_"+"process")`},
		"php":     {`system("id");`, `SYSTEM("id");`, "echo `id`;", `exec ("id");`, `shell_exec("id");`, `passthru("id");`, `popen("id","r");`, `proc_open("id",[],$p);`, `pcntl_exec("id");`, `eval($x);`, `assert($x);`, `$f("id");`, `("sys"."tem")("id");`, `array_map("system",["id"]);`, `call_user_func($x,"id");`, `include "data:text/plain,x";`, `FFI::cdef("");`},
		"lua":     {`os.execute("id")`, `io.popen("id")`, `os["execute"]("id")`, `load("x")()`, `loadstring("x")()`, `dofile("x")`, `require("posix")`, `_G["os"]`, `local o=os; o.execute("id")`, `for k,v in pairs(os) do end`, `package.loadlib("x","y")`, `f(os)`},
		"r":       {`system("id")`, `system2("id")`, `shell("id")`, `eval(parse(text="x"))`},
		"sqlite3": {`.shell id`, `.system id`, "select 1;\n.sh id", `.output |id`, `.once |id`, `.read f`, `.load x`, `select load_extension('x')`, `.import "|id" t`, `select edit('x')`, `.excel`, `.www`, `.import --csv "|id" t`, `.i |id t`, `.imp --skip 1 '|id' t`, `.on --bom -e`, `.o -x`},
		"psql":    {`\! id`, `copy t from program 'id'`, `COPY t TO PROGRAM 'id'`, `select 1 \g |id`, `\o |id`, `\e`, "\\set x `id`", `\copy t from program 'id'`, `copy t from program /* x */ 'id'`, "copy t from program -- x\n'id'", `copy t from program U&'id'`},
		"mysql":   {`\! id`, `system id`, `select 1; system id`, `\P id`, `pager id`, `source x`},
		"dc":      {`!id`, `2 !id`}, "ed": {`!id`, `r !id`}, "ftp": {`!id`}, "m4": {`syscmd(id)`, `esyscmd(id)`}, "gdb": {`shell id`, `` + "\n"}, "vim": {`:!id`}, "ssh": {`curl x`, `system`},
	}
}

func inlineHarmless() map[string][]string {
	return map[string][]string{
		"python": {
			`print(1)`, `import json,sys;print(json.load(sys.stdin)["a"])`, `import sys; [print(l.split()[0]) for l in sys.stdin]`, `import os; print(os.environ["HOME"])`, `import os; print(os.path.join("a","b"))`, `from os import path; print(path.exists("x"))`, `import platform; print(platform.system(), platform.machine())`, `print("the system is up")`,
			`import re; print(re.sub("a","b","c"))`, `import hashlib; print(hashlib.sha256(b"x").hexdigest())`, `from pathlib import Path; print(Path("x").read_text())`, `import datetime; print(datetime.date.today())`, `import base64; print(base64.b64encode(b"x"))`, `import ast; print(ast.literal_eval("1"))`, `import yaml; print(yaml.safe_load(open("x")))`,
			`import csv,sys; print(len(list(csv.reader(sys.stdin))))`, `import urllib.parse; print(urllib.parse.quote("a b"))`, `import numpy as np; print(np.__version__)`, `for i in range(3): print(i)`, `print("é ü 日本 🚀")`, `import xml.etree.ElementTree as E; print(E.parse("x").getroot().tag)`, `import tomllib; print(tomllib.load(open("x","rb"))["a"])`, `import random; print(random.choice([1,2]))`, `x = {"exec": 1}; print(x["exec"])`, `print("run git status")`,
		},
		"perl":    {`print "hi\n"`, `print if /system/`, `s/foo/bar/g`, `s/(\d+)/$1+1/e`, `print join ",", sort keys %h`, `$n++ while <>; print $n`, `print "file system full" if /x/`, `print scalar reverse "abc"`, `use JSON::PP; print 1`, `printf "%d\n", $1 if /(\d+)/`, `open(my $f, "<", "x") or die; print <$f>`, `tr/a-z/A-Z/`, `print lc $_`, `eval { die }; print 1`, `$x{$_}++ for @F; END { print %x }`},
		"ruby":    {`puts 1`, `puts $_ if /x/`, `require "json"; puts JSON.parse(STDIN.read)["a"]`, `puts File.read("x")`, `puts [1,2].map { |x| x * 2 }.inspect`, `puts "the system"`, `$stdin.each_line { |l| puts l.upcase }`},
		"node":    {`console.log(1)`, `console.log(require("./package.json").version)`, `JSON.parse(require("fs").readFileSync("x","utf8")).a`, `console.log(/a(.)/.exec("ab")[1])`, `process.stdin.on("data",d=>console.log(String(d)))`, `console.log(process.version, process.platform)`, `import("./x.mjs").then(m=>console.log(m.default))`, `console.log([1,2].map(x=>x*2).join())`, `require('node:path').join('a','b')`},
		"php":     {`echo 1;`, `echo json_encode(["a"=>1]);`, `print_r(scandir("."));`, `echo PHP_VERSION;`, `echo strtoupper("x");`, `foreach ([1,2] as $x) echo $x;`},
		"lua":     {`print(1)`, `print(os.time())`, `for l in io.lines("x") do print(l) end`, `print(("x"):upper())`},
		"r":       {`print(1)`, `cat(mean(c(1,2)))`, `summary(read.csv("x"))`},
		"sqlite3": {`select 1;`, `.tables`, `.schema t`, `.mode csv`, `.headers on`, `select name from sqlite_master`, `.output out.txt`, `.import a.csv t`, `.import --csv --skip 1 a.csv t`, `.separator "|"`, `.open x.db`, `select a || '|' || b from t`},
		"psql":    {`select 1;`, `\dt`, `\d+ t`, `copy t to stdout`, `\timing`, `select * from programs`, `select program from t -- 'x'`, `select program, 'x' from t`}, "mysql": {`show tables;`, `select 1`}, "dc": {`2 3 + p`, `2 3 !=a`}, "ed": {`1,3p`, `w`}, "m4": {`define(x,1)x`}, "ftp": {`get x`},
	}
}

func FuzzStarts(f *testing.F) {
	for language, texts := range inlineHarmless() {
		for _, text := range texts {
			f.Add(language, text)
		}
	}
	for language, texts := range starting() {
		f.Add(language, texts[0])
	}
	f.Fuzz(func(t *testing.T, language, text string) {
		if what, starts := inlineStarts(language, text); starts && what == "" && text != "" &&
			!strings.ContainsAny(text, " \t\n\r") {
			t.Errorf("%s: %q is refused for nothing", language, text)
		}
		if _, starts := inlineStarts("python", text+"\nimport subprocess"); !starts {
			t.Errorf("%q hides a start behind it", text)
		}
	})
}
