import posix,marshal
def read(n):
    b=b""
    while len(b)<n:
        d=posix.read(3,n-len(b))
        if not d:posix._exit(0)
        b+=d
    return b
t=read(int.from_bytes(read(4),"big")).decode("utf-8").split("\0")
out=marshal.dumps(tuple((n,compile(s,"<ringd>","exec",0,True,2)) for n,s in zip(t[::2],t[1::2])))
out=len(out).to_bytes(4,"big")+out
while out:out=out[posix.write(4,out):]
