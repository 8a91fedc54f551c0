# A program text written to a file.
cat > hello.py <<'EOF'
import sys
print("hello", sys.argv[1:])
EOF
wc -l < hello.py
head -n 1 hello.py
cat <<EOF >> hello.py
# made by $USER_NAME
EOF
tail -n 1 hello.py
