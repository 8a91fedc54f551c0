# The lab: a root of its own inside of new namespaces, whose root this shell is. Nothing of the
# host is in it but /usr, read as nobody, and the devices of every process. Then the parent starts.
# Arguments: the folder of the test that is written to (OUTSIDE), the user that libraries lie with, and what to start.
set -e
outside=$1 extra=$2
shift 2
mount --make-rprivate /
mount -t tmpfs -o mode=755 lab /tmp
cd /tmp
mkdir -p usr proc dev dev/shm dev/pts etc tmp var/tmp run root home/agent workspace old sys
chmod 1777 tmp var/tmp dev/shm
mount --rbind /usr usr
if [ -n "$extra" ]; then mkdir -p ".$extra"; mount --rbind "$extra" ".$extra"; fi
for l in bin sbin lib lib64; do ln -s usr/$l $l; done
for d in null zero full random urandom; do : >dev/$d; mount --bind /dev/$d dev/$d; done
mount -t devpts -o newinstance,ptmxmode=0666 pts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
cp -rL /etc/localtime /etc/mime.types /etc/ld.so.cache /etc/alternatives etc/ 2>/dev/null || true
echo 'root:x:0:0:root:/root:/bin/sh' >etc/passwd
echo 'root:!:1:' >etc/shadow
echo '127.0.0.1 localhost' >etc/hosts
echo 'nameserver 192.0.2.53' >etc/resolv.conf
mount -t proc proc proc
mount -t tmpfs tmp tmp
chmod 1777 tmp
mkdir -p ".$outside"
ip link set lo up
ip addr add 192.0.2.1/24 dev lo
ip route add default dev lo
pivot_root . old
umount -l /old
cd /workspace
export HOME=/workspace TMPDIR=/workspace
exec timeout -s KILL 60 setpriv --no-new-privs "$@"
