package modules

// standard lists the top-level names of the standard library of CPython 3.10 to 3.14
// (sys.stdlib_module_names), including private names and those of other systems. The names are sorted, each
// followed by a space.
const standard = "" +
	"__future__ _abc _aix_support _android_support _apple_support _ast _ast_unparse _asyncio _bisect _blake2 " +
	"_bootsubprocess _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw " +
	"_collections _collections_abc _colorize _compat_pickle _compression _contextvars _crypt _csv _ctypes " +
	"_curses _curses_panel _datetime _dbm _decimal _elementtree _frozen_importlib _frozen_importlib_external " +
	"_functools _gdbm _hashlib _heapq _hmac _imp _interpchannels _interpqueues _interpreters _io _ios_support " +
	"_json _locale _lsprof _lzma _markupbase _md5 _msi _multibytecodec _multiprocessing _opcode _opcode_metadata " +
	"_operator _osx_support _overlapped _pickle _posixshmem _posixsubprocess _py_abc _py_warnings _pydatetime " +
	"_pydecimal _pyio _pylong _pyrepl _queue _random _remote_debugging _scproxy _sha1 _sha2 _sha256 _sha3 " +
	"_sha512 _signal _sitebuiltins _socket _sqlite3 _sre _ssl _stat _statistics _string _strptime _struct " +
	"_suggestions _symtable _sysconfig _thread _threading_local _tkinter _tokenize _tracemalloc _types _typing " +
	"_uuid _warnings _weakref _weakrefset _winapi _wmi _zoneinfo _zstd abc aifc annotationlib antigravity " +
	"argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii binhex bisect builtins bz2 " +
	"cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall compression " +
	"concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime " +
	"dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp " +
	"fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip " +
	"hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json " +
	"keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder " +
	"msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os " +
	"ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint " +
	"profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib " +
	"resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib " +
	"sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string " +
	"stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile " +
	"termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty " +
	"turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser " +
	"winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo "

// outside lists the modules of the standard library that are not in the default set.
// The names are sorted, each followed by a space. A name covers its submodules. It
// holds modules that
//   - reach a process, the network, a terminal, users, or raw memory: ctypes,
//     subprocess, multiprocessing, socket, ssl, http.client, smtplib, pty, pwd;
//   - open files without an audit event: readline, _dbm, _gdbm;
//   - run code in a way that the import guard cannot follow: marshal, runpy, imp,
//     zipimport, site, _imp, importlib._bootstrap;
//   - observe other code, including the guard's: bdb, pdb, trace, profile (the
//     guard gives a program a cProfile that does not);
//   - have no use in a guest: tkinter, curses, idlelib, venv, winreg, distutils.
//
// os, io, sys, pathlib, shutil, sqlite3, asyncio, threading, pickle, importlib,
// inspect and signal are in the default set: the guard denies their dangerous uses
// as they happen, and the kernel ring enforces the limits. Private accelerators such
// as _io and _operator are in it too: a pickle names them, and they can do no more
// than the module they belong to.
const outside = "" +
	"_aix_support _android_support _apple_support _bootsubprocess _crypt _ctypes _curses _curses_panel _dbm " +
	"_frozen_importlib _frozen_importlib_external _gdbm _imp _interpchannels _interpqueues _interpreters " +
	"_ios_support _lsprof _msi _multiprocessing _osx_support _overlapped _posixshmem _posixsubprocess _pyrepl " +
	"_remote_debugging _scproxy _socket _ssl _thread _tkinter _winapi _wmi antigravity asynchat " +
	"asyncio.subprocess asyncio.tools asyncio.unix_events asyncio.windows_events asyncio.windows_utils asyncore " +
	"bdb cgi cgitb concurrent.futures.interpreter concurrent.futures.process concurrent.interpreters " +
	"crypt ctypes curses dbm.gnu dbm.ndbm distutils ensurepip ftplib grp http.client http.server idlelib imaplib " +
	"imp importlib._bootstrap importlib._bootstrap_external lib2to3 mailcap marshal msilib msvcrt " +
	"multiprocessing nis nntplib nt ossaudiodev pdb pipes poplib posix profile pty pwd readline rlcompleter " +
	"runpy site smtpd smtplib socket socketserver spwd ssl subprocess syslog telnetlib termios tkinter trace tty " +
	"turtle turtledemo urllib.request urllib.robotparser venv webbrowser winreg winsound wsgiref xmlrpc " +
	"zipimport "

// never lists the modules that no guest loads, libraries included. No policy can allow them: interpreters
// inside the interpreter, which have no audit hook, a reader of other processes' memory, and CPython's own
// test modules. The names are sorted, each followed by a space. A name covers its submodules.
const never = "" +
	"_ctypes_test _interpchannels _interpqueues _interpreters _remote_debugging _testbuffer _testcapi " +
	"_testclinic _testclinic_limited _testexternalinspection _testimportmultiple _testinternalcapi " +
	"_testlimitedcapi _testmultiphase _testsinglephase _xxinterpchannels _xxinterpqueues _xxsubinterpreters " +
	"_xxtestfuzz concurrent.futures.interpreter concurrent.interpreters xxlimited xxlimited_35 xxlimited_3_13 " +
	"xxsubtype "
