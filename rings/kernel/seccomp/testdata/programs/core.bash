set -eu
cd "$1"
mkdir -p a/b && echo text >a/b/f && cp -a a c && mv c d && ln -s f d/b/l && ln d/b/f d/b/h
ls -la d/b >/dev/null && find d -name f -print0 | xargs -0 grep -c text >/dev/null
tar cf t.tar d && mkdir x && tar xf t.tar -C x && gzip t.tar && gzip -dc t.tar.gz | sha256sum >/dev/null
sed -i s/text/word/ a/b/f && awk '{print $1}' a/b/f >/dev/null && chmod 640 a/b/f && touch -d 2020-01-01 a/b/f
stat a/b/f >/dev/null && df . >/dev/null && du -s . >/dev/null && date >/dev/null && nproc >/dev/null && id >/dev/null
timeout 5 true && env -i true && mktemp >/dev/null -p . && install -m 755 a/b/f z && dd if=z of=y bs=1 count=2 status=none
tail -n1 a/b/f | tee w | cut -c1 | uniq | sort -n | paste -s >/dev/null && mkfifo p && rm -rf a d x && sync z && truncate -s 10 w
split -b 4 w s. && cmp y y && nice true && test "$(realpath z)" = "$(pwd -P)/z" && shuf -n1 z >/dev/null && sleep 0
echo "coreutils work"
