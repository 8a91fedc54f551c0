# A shell that reads its text.
bash <<'EOF'
x=5
echo "inside $((x + 1))"
EOF
echo 'echo piped $1' | bash -s arg
