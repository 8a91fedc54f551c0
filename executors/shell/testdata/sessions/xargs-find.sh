# Files found and handed on.
mkdir -p t/x t/y; touch t/x/a.go t/y/b.go t/c.txt
find t -name '*.go' | sort
find t -type f -name '*.go' -print0 | sort -z | xargs -0 -n1 basename
find t -name '*.txt' -exec basename {} \;
find t -type d | wc -l
