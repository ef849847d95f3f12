def main():
    print("three")


main()
