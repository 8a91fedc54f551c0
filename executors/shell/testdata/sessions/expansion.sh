# What can be done to a variable.
f=/path/to/file.tar.gz
echo "${f##*/} ${f%/*} ${f%.*} ${f%%.*} ${f#/}"
echo "${f/path/PATH} ${f//t/T} ${#f}"
s=Hello; echo "${s,,} ${s^^} ${s:1:3} ${s: -2}"
echo "${u:-unset} ${u:=now} $u ${u:+yes}"
