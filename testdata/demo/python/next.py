print("the session still knows", len(sold), "shops")
round(sum(sold.values()), 2)
