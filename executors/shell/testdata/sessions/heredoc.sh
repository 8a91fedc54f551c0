# Here-documents, expanded and not.
name=world
cat <<EOF
hello $name $((2 * 21)) $(echo sub)
EOF
cat <<'EOF'
hello $name `no` $(no)
EOF
cat <<-EOF
	indented
		more
	EOF
