# coll/
