/* Virtual topologies: grids, graphs that everybody knows, graphs of which everybody knows a part; made, asked and taken apart. */
#include "check.h"

static void dimensions(void)
{
    int dims[4] = {0, 0, 0, 0};
    MPI_Dims_create(24, 3, dims);
    CHECK(dims[0] == 4 && dims[1] == 3 && dims[2] == 2);
    int some[3] = {0, 5, 0};
    MPI_Dims_create(60, 3, some);
    CHECK(some[0] == 4 && some[1] == 5 && some[2] == 3);
    int whole[2] = {3, 2};
    MPI_Dims_create(6, 2, whole);
    CHECK(whole[0] == 3 && whole[1] == 2);
    CHECK(MPI_Dims_create(7, 2, whole) != MPI_SUCCESS);
    int bad[2] = {-1, 0}, odd[2] = {4, 0};
    CHECK(MPI_Dims_create(4, 2, bad) != MPI_SUCCESS);
    CHECK(MPI_Dims_create(6, 2, odd) != MPI_SUCCESS);
    CHECK(MPI_Dims_create(0, 2, dims) != MPI_SUCCESS);
}

/* A grid of 2 rows, a circle, and of columns that end. */
static void grids(void)
{
    int columns = size / 2, dims[2] = {2, columns}, periods[2] = {1, 0}, kind, n, map;
    MPI_Comm grid, same, row, column;
    MPI_Topo_test(MPI_COMM_WORLD, &kind);
    SAME(kind, MPI_UNDEFINED);
    if (columns == 0) return;
    MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &map);
    SAME(map, rank < 2 * columns ? rank : MPI_UNDEFINED);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    CHECK((grid == MPI_COMM_NULL) == (rank >= 2 * columns));
    if (grid == MPI_COMM_NULL) return;
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
    MPI_Comm_dup(grid, &same);
    MPI_Topo_test(same, &kind);
    SAME(kind, MPI_CART);
    MPI_Cartdim_get(same, &n);
    SAME(n, 2);
    int found_dims[2], found_periods[2], place[2], me, coords[2], source, destination;
    MPI_Comm_rank(grid, &me);
    MPI_Cart_get(same, 2, found_dims, found_periods, place);
    CHECK(found_dims[0] == 2 && found_dims[1] == columns && found_periods[0] == 1 && found_periods[1] == 0);
    for (int r = 0; r < 2 * columns; r++) {
        int back;
        MPI_Cart_coords(grid, r, 2, coords);
        CHECK(coords[0] == r / columns && coords[1] == r % columns);
        MPI_Cart_rank(grid, coords, &back);
        SAME(back, r);
        if (r == me) CHECK(coords[0] == place[0] && coords[1] == place[1]);
    }
    coords[0] = -1, coords[1] = 0;
    int round_rank;
    MPI_Cart_rank(grid, coords, &round_rank);
    SAME(round_rank, columns);
    coords[0] = 0, coords[1] = columns;
    CHECK(MPI_Cart_rank(grid, coords, &round_rank) != MPI_SUCCESS);
    MPI_Cart_shift(grid, 0, 1, &source, &destination);
    SAME(destination, (1 - place[0]) * columns + place[1]);
    SAME(source, destination);
    MPI_Cart_shift(grid, 1, 1, &source, &destination);
    SAME(destination, place[1] + 1 < columns ? me + 1 : MPI_PROC_NULL);
    SAME(source, place[1] > 0 ? me - 1 : MPI_PROC_NULL);
    CHECK(MPI_Cart_shift(grid, 2, 1, &source, &destination) != MPI_SUCCESS);
    CHECK(MPI_Cart_coords(grid, 2 * columns, 2, coords) != MPI_SUCCESS);
    CHECK(MPI_Cart_get(grid, 1, found_dims, found_periods, place) != MPI_SUCCESS);

    int rows_remain[2] = {0, 1}, columns_remain[2] = {1, 0}, none_remain[2] = {0, 0}, row_size, row_rank;
    MPI_Cart_sub(grid, rows_remain, &row);
    MPI_Comm_size(row, &row_size);
    MPI_Comm_rank(row, &row_rank);
    CHECK(row_size == columns && row_rank == me % columns);
    MPI_Cartdim_get(row, &n);
    SAME(n, 1);
    MPI_Cart_sub(grid, columns_remain, &column);
    MPI_Comm_size(column, &row_size);
    MPI_Comm_rank(column, &row_rank);
    CHECK(row_size == 2 && row_rank == me / columns);
    MPI_Comm alone;
    MPI_Cart_sub(grid, none_remain, &alone);
    MPI_Comm_size(alone, &row_size);
    SAME(row_size, 1);
    MPI_Cartdim_get(alone, &n);
    SAME(n, 0);

    int nodes, edges;
    CHECK(MPI_Graphdims_get(grid, &nodes, &edges) != MPI_SUCCESS);
    int class;
    MPI_Error_class(MPI_Graphdims_get(grid, &nodes, &edges), &class);
    SAME(class, MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&alone);
    MPI_Comm_free(&column);
    MPI_Comm_free(&row);
    MPI_Comm_free(&same);
    MPI_Comm_free(&grid);
}

static void refused_grids(void)
{
    MPI_Comm grid;
    int large[2] = {size, 2}, none[1] = {0}, periods[2] = {0, 0};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, large, periods, 0, &grid) != MPI_SUCCESS);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, none, periods, 0, &grid) != MPI_SUCCESS);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, -1, none, periods, 0, &grid) != MPI_SUCCESS);
    int index[1] = {1}, edges[1] = {7};
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, 1, index, edges, 0, &grid) != MPI_SUCCESS);
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, size + 1, index, edges, 0, &grid) != MPI_SUCCESS);
    int sources[1] = {size};
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &grid) !=
          MPI_SUCCESS);
    CHECK(MPI_Cartdim_get(MPI_COMM_WORLD, periods) != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* A ring with chords to rank 0. */
static void graphs(void)
{
    int index[64], edges[256], n = 0, kind, map;
    MPI_Comm ring;
    for (int r = 0; r < size; r++) {
        edges[n++] = (r + 1) % size;
        edges[n++] = (r + size - 1) % size;
        if (r > 1) edges[n++] = 0;
        index[r] = n;
    }
    MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &map);
    SAME(map, rank);
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &ring);
    MPI_Topo_test(ring, &kind);
    SAME(kind, MPI_GRAPH);
    int nodes, count, found_index[64], found_edges[256];
    MPI_Graphdims_get(ring, &nodes, &count);
    CHECK(nodes == size && count == n);
    MPI_Graph_get(ring, size, n, found_index, found_edges);
    for (int i = 0; i < size; i++) SAME(found_index[i], index[i]);
    for (int i = 0; i < n; i++) SAME(found_edges[i], edges[i]);
    for (int r = 0; r < size; r++) {
        int neighbors[8];
        MPI_Graph_neighbors_count(ring, r, &count);
        SAME(count, r > 1 ? 3 : 2);
        MPI_Graph_neighbors(ring, r, count, neighbors);
        for (int i = 0; i < count; i++) SAME(neighbors[i], edges[(r ? index[r - 1] : 0) + i]);
    }
    MPI_Comm_free(&ring);
}

static void distributed(void)
{
    MPI_Comm graph;
    int kind, in, out, weighted, next = (rank + 1) % size, before = (rank + size - 1) % size;
    int sources[2] = {before, rank}, destinations[2] = {next, rank}, in_weights[2] = {10 + before, 5}, out_weights[2] = {10 + rank, 5};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, in_weights, 2, destinations, out_weights, MPI_INFO_NULL, 0, &graph);
    MPI_Topo_test(graph, &kind);
    SAME(kind, MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 2 && out == 2 && weighted);
    int s[8], d[8], sw[8], dw[8];
    MPI_Dist_graph_neighbors(graph, 2, s, sw, 2, d, dw);
    CHECK(s[0] == before && s[1] == rank && d[0] == next && d[1] == rank);
    CHECK(sw[0] == 10 + before && sw[1] == 5 && dw[0] == 10 + rank && dw[1] == 5);
    MPI_Comm_free(&graph);

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 0 && out == 0 && weighted);
    MPI_Comm_free(&graph);

    /* Rank 0 gives all edges: everybody to everybody else, once, and a double one to itself. */
    int from[64], degrees[64], to[4096], weights[4096], n = 0;
    for (int r = 0; rank == 0 && r < size; r++) {
        from[r] = r;
        degrees[r] = size + 1;
        for (int t = 0; t <= size; t++) {
            to[n] = t < size ? t : r;
            weights[n++] = r * 100 + t;
        }
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? size : 0, from, degrees, to, rank == 0 ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == size + 1 && out == size + 1 && weighted);
    int all_in[65], all_out[65], weight_in[65], weight_out[65], seen[64] = {0};
    MPI_Dist_graph_neighbors(graph, in, all_in, weight_in, out, all_out, weight_out);
    for (int i = 0; i < in; i++) {
        seen[all_in[i]]++;
        SAME(weight_in[i] / 100, all_in[i]);
    }
    for (int r = 0; r < size; r++) SAME(seen[r], r == rank ? 2 : 1);
    for (int i = 0; i < out; i++) SAME(weight_out[i] / 100, rank);
    MPI_Comm_free(&graph);

    /* Everybody gives the edge of somebody else. */
    int other = next, one = 1, target = (next + 1) % size;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &other, &one, &target, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 1 && out == 1 && !weighted);
    MPI_Dist_graph_neighbors(graph, 1, s, MPI_UNWEIGHTED, 1, d, MPI_UNWEIGHTED);
    CHECK(s[0] == before && d[0] == next);
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    dimensions();
    grids();
    refused_grids();
    graphs();
    distributed();
    return conclude();
}
