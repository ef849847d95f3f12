def main():
    print("one")


main()
