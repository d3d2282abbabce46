"""These modules contain the GPU programs that draw shapes. Most modules are named after their shape. `ray_cast`
contains the common code of ray cast shapes. `capsules` also contains the pattern and light of all round shapes.
`shadows` contains the program that draws soft shadows on the ground."""
