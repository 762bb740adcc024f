/* The gradient of the squared error of a tapered linear evaluation, as a plain loop over the
   rows of a sparse matrix, for texel_linear.py. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Adds the error and the gradient of rows first to stop - 1 to *error and gradient, which has
   the weights of the opening, then those of the endgame. */
void add_gradient(size_t first, size_t stop, const uint64_t *indptr, const uint8_t *columns,
                  const int8_t *values, const float *phase, const float *offset,
                  const float *target, const float *weights, size_t features, float scale,
                  double *error, double *gradient)
{
    for (size_t i = first; i < stop; i++) {
        float opening = 0, ending = 0;
        for (uint64_t k = indptr[i]; k < indptr[i + 1]; k++) {
            opening += values[k] * weights[columns[k]];
            ending += values[k] * weights[features + columns[k]];
        }
        float q = offset[i] + phase[i] * opening + (1 - phase[i]) * ending;
        float p = 1 / (1 + expf(-q / scale));
        float off = p - target[i];
        float pull = 2 * off * p * (1 - p) / scale;
        float of_opening = pull * phase[i], of_ending = pull - of_opening;
        *error += off * off;
        for (uint64_t k = indptr[i]; k < indptr[i + 1]; k++) {
            gradient[columns[k]] += values[k] * of_opening;
            gradient[features + columns[k]] += values[k] * of_ending;
        }
    }
}
