#include "nn/models/images.h"

#include <fulgurite/error.h>
#include <fulgurite/models/vit.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"

namespace fulgurite::models {

Grid grid_of(const Grid& image, const Grid& patch) {
  if (patch[0] < 1 || patch[1] < 1 || image[0] < patch[0] || image[1] < patch[1])
    throw UserError(
        text::cat("an image of ", image[0], " x ", image[1], " pixels has no patch of ", patch[0], " x ", patch[1]));
  return {image[0] / patch[0], image[1] / patch[1]};
}

void check_images(std::string_view model, const Tensor& images, const Tensor& weight, const std::optional<Grid>& size) {
  if (!images.defined()) throw UserError(text::cat(model, ": the images are an undefined tensor"));
  if (images.ndim() != 4 || images.size(1) != weight.size(1))
    throw UserError(
        text::cat(model, " takes images [batch, ", weight.size(1), ", rows, columns], got shape ", images.shape()));
  if (size && (images.size(2) != (*size)[0] || images.size(3) != (*size)[1]))
    throw UserError(text::cat(model, ": the model's positions are for images of ", (*size)[0], " x ", (*size)[1],
                              " pixels, these have ", images.size(2), " x ", images.size(3),
                              "; resize them, or let the positions be interpolated"));
}

Tensor patch_rows(const nn::Conv2d& projection, const Tensor& images) {
  const Tensor patches = projection(images.to(projection.weight.dtype()));
  return transpose(flatten(patches, 2), 1, 2);
}

Tensor interpolate_positions(const Tensor& table, const Grid& grid, const Grid& wanted) {
  if (grid == wanted) return table;
  const Int width = table.size(2);
  const Tensor first = narrow(table, 1, 0, 1);
  const Tensor patches = narrow(table, 1, 1, grid[0] * grid[1]);
  const Tensor planes = permute(reshape(patches, {1, grid[0], grid[1], width}), {0, 3, 1, 2});
  const Tensor resized = nn::interpolate(planes, {wanted[0], wanted[1]}, {}, "bicubic", false);
  const Tensor rows = reshape(permute(resized, {0, 2, 3, 1}), {1, wanted[0] * wanted[1], width});
  return cat({first, rows}, 1);
}

}  // namespace fulgurite::models
