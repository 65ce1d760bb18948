//! What both kernels with GFNI have in common, for a vector of 256 or 512 bits; see [`super::matrices`].

/// Implements [`Wide`](super::super::xts::Wide) for a proof, with these instructions for a vector. The sum of three and the
/// round, which AVX-512 does with fewer instructions, are the module's own `sum` and `round`.
macro_rules! kernel {
    (
        $proof:ident, $name:literal, $blocks:literal, $vector:ty, $features:literal,
        $masks:ident, $transpose:ident, $broadcast:ident, $load:ident, $store:ident, $affine:ident, $set:ident, $xor:ident
    ) => {
        impl Wide for $proof {
            const NAME: &'static str = $name;
            const BLOCKS: usize = $blocks;
            type Keys = Keys;

            fn keys(schedule: &Schedule) -> Keys {
                Keys::new(schedule)
            }

            unsafe fn transform(self, keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
                // SAFETY: `self` proves the features; the rest is the trait's contract.
                unsafe { transform(keys, from, masks, to) }
            }

            fn masks(self, first: u128, masks: &mut [Block; CHUNK]) {
                // SAFETY: `self` proves the features.
                unsafe { $masks(first, masks) }
            }
        }

        /// A half of the state: byte positions, most significant first.
        type Half = [$vector; 8];

        /// # Safety
        /// The CPU must have the features; for the rest see [`Wide::transform`].
        #[target_feature(enable = $features)]
        unsafe fn transform(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
            align_frame();
            let block = |[low, high]: [u64; 2]| {
                let block = _mm_set_epi64x(high.cast_signed(), low.cast_signed());
                $broadcast(block)
            };
            // SAFETY: each pointer goes through the blocks, a vector at a time.
            let load = |from: *const u8, i: usize| unsafe {
                $load(from.add(size_of::<$vector>() * i).cast())
            };
            let first = block(keys.first);
            let x: [_; 16] = std::array::from_fn(|i| sum(load(from, i), load(masks, i), first));
            let x = $transpose(x);
            let mut left: Half = std::array::from_fn(|i| multiply(x[i], ENTER));
            let mut right: Half = std::array::from_fn(|i| multiply(x[8 + i], ENTER));

            let segments = keys.rounds[..keys.count].as_chunks::<SEGMENT>().0;
            for (segment, constants) in segments.iter().enumerate() {
                if segment > 0 {
                    let [for_left, for_right] = &keys.layers[segment - 1];
                    left = back(rotation(left, for_left), for_left);
                    right = rotation(back(right, for_right), for_right);
                }
                for [first, second] in constants.as_chunks().0 {
                    right = round(left, right, first);
                    left = round(right, left, second);
                }
            }

            let x = std::array::from_fn(|i| {
                let byte = if i < 8 { right[i] } else { left[i - 8] };
                multiply(byte, LEAVE)
            });
            let x = $transpose(x);
            let last = block(keys.last);
            for (i, x) in x.into_iter().enumerate() {
                // SAFETY: the pointer goes through the blocks, a vector at a time.
                unsafe {
                    $store(to.add(size_of::<$vector>() * i).cast(), sum(x, load(masks, i), last))
                };
            }
        }

        /// Adds the rotated left word to the right one.
        #[inline]
        #[target_feature(enable = $features)]
        fn rotation(mut x: Half, matrices: &HalfMatrices) -> Half {
            for i in 0..4 {
                let next = (i + 1) % 4;
                let same = multiply(x[i], matrices.same[i]);
                let carry = multiply(x[next], matrices.carry[next]);
                x[4 + i] = sum(x[4 + i], same, carry);
            }
            x
        }

        /// Adds the selected bits of the right word to the left one.
        #[inline]
        #[target_feature(enable = $features)]
        fn back(mut x: Half, matrices: &HalfMatrices) -> Half {
            for i in 0..4 {
                x[i] = xor(x[i], multiply(x[4 + i], matrices.back[i]));
            }
            x
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn multiply(x: $vector, matrix: u64) -> $vector {
            $affine::<0>(x, $set(matrix.cast_signed()))
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn xor(a: $vector, b: $vector) -> $vector {
            $xor(a, b)
        }
    };
}

pub(super) use kernel;
