// Package guest is the guest's half of the Python executor, as far as it stands: it
// runs programs and has no guard yet, so that the kernel ring alone holds them.
package guest

import _ "embed"

//go:embed interim.py
var interim []byte

// Launcher reads its settings and code from descriptor 3.
const Launcher = `import marshal,posix
def rd(n):
    b=b""
    while len(b)<n:
        d=posix.read(3,n-len(b))
        if not d: posix._exit(0)
        b+=d
    return b
h=rd(5); body=rd(int.from_bytes(h[:4],"big"))
i=0
def uv():
    global i
    n=s=0
    while True:
        c=body[i]; i+=1; n|=(c&127)<<s; s+=7
        if c<128: return n
v=uv(); n=uv(); st=body[i:i+n]
k=int.from_bytes(st[:4],"big")
exec(marshal.loads(st[4+k:]),{"settings":st[4:4+k],"rd":rd,"__builtins__":__builtins__})
`

// Compiler compiles.
const Compiler = `import marshal,posix
def rd(n):
    b=b""
    while len(b)<n: b+=posix.read(3,n-len(b))
    return b
c=marshal.dumps(compile(rd(int.from_bytes(rd(4),"big")),"<ringd>","exec",0,True))
c=len(c).to_bytes(4,"big")+c
while c: c=c[posix.write(3,c):]
`

// Source is the guest's half.
func Source() []byte { return interim }
