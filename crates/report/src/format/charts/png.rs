//! A chart as pixels, drawn with a font that the program carries, so that it looks the same everywhere.

use std::sync::{Arc, LazyLock};

use png::{BitDepth, ColorType, Encoder};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

use super::{Chart, MARK};

/// Letters of European languages, Greek, and the marks that charts use (crates/report/vendor/dejavu). Other characters of a
/// label are blank in a PNG; the SVG has them.
const FONT: &[u8] = include_bytes!("../../../vendor/dejavu/DejaVuSans-subset.ttf");

/// Pixels of the picture per CSS pixel of the chart.
const DENSITY: f32 = 3.0;

/// Why there is no picture. Charts are drawn by this program, so this is a defect or a lack of memory.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The chart cannot be read as SVG.
    #[error("the chart is not valid SVG")]
    Svg(#[from] resvg::usvg::Error),
    /// No picture of this size can be made.
    #[error("no picture of {0} x {1} pixels can be made")]
    Size(u32, u32),
    /// The picture cannot be written.
    #[error("the picture cannot be encoded")]
    Encoding(#[from] png::EncodingError),
}

/// The chart as a PNG file of three pixels per CSS pixel.
pub fn png(chart: &Chart) -> Result<Vec<u8>, PngError> {
    static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
        let mut fonts = Database::new();
        fonts.load_font_data(FONT.to_vec());
        Arc::new(fonts)
    });
    let options = Options {
        fontdb: FONTS.clone(),
        font_family: "DejaVu Sans".to_owned(),
        ..Options::default()
    };
    let tree = Tree::from_str(&chart.svg, &options)?;
    let pixels = |length: f32| (length * DENSITY).ceil() as u32;
    let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
    let mut picture = Pixmap::new(width, height).ok_or(PngError::Size(width, height))?;
    resvg::render(&tree, Transform::from_scale(DENSITY, DENSITY), &mut picture.as_mut());
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, width, height);
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    encoder.add_text_chunk("Software".to_owned(), MARK.to_owned())?;
    encoder.add_itxt_chunk("Title".to_owned(), chart.title.clone())?;
    // The background of every chart is opaque, so premultiplied colours equal the colours.
    encoder.write_header()?.write_image_data(picture.data())?;
    Ok(out)
}
