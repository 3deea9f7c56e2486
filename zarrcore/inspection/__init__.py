"""Looking into stores: find what is damaged or does not belong, what a read costs, what is stored where."""
