import posix,marshal,sys,builtins
def read(n):
    b=b""
    while len(b)<n:
        d=posix.read(3,n-len(b))
        if not d:posix._exit(0)
        b+=d
    return b
def boot():
    h=read(5);n=int.from_bytes(h[:4],"big")
    if h[4]!=1 or n>1<<24:posix._exit(76)
    b=read(n);i=v=s=0
    while 1:
        v|=(b[i]&127)<<s;s+=7;i+=1
        if b[i-1]<128:break
    while b[i]>127:i+=1
    i+=1;n=int.from_bytes(b[i:i+4],"big");i+=4
    own=dict(vars(builtins));known={};real=own["__import__"]
    own["__import__"]=lambda name,*a:known.get(name) or real(name,*a)
    for name,code in marshal.loads(b[i+n:]):
        m=type(sys)(name);vars(m)["__builtins__"]=own;exec(code,vars(m));known[name]=m
    own["__import__"]=real
    return m.start(v,known["values"].loads(b[i:i+n]))
(boot(),globals().clear())[0]()
