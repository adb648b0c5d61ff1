/* The stand-in's five functions. */
#ifdef __cplusplus
extern "C" {
#endif
typedef struct MPI_ABI_Comm *MPI_Comm;
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
#ifdef __cplusplus
}
#endif
