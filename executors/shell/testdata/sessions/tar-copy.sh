# An archive made, listed and opened.
mkdir p; echo 1 > p/a; echo 2 > p/b
tar -cf p.tar p
tar -tf p.tar | sort
mkdir o; tar -xf p.tar -C o; cat o/p/a o/p/b
tar -cf - p | gzip > p.tgz; gzip -dc p.tgz | tar -tf - | wc -l
