// A stand-in for libnccl.so.2, for tests on the emulated GPU: what headroom-nccl.so calls of it, between processes or
// threads of one machine, over sockets in a folder that the id names. As NCCL's, calls return at once, what they begin
// goes on in a thread, and a rank that is gone is an error of the group.
#include <nccl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

struct ncclComm {
  struct Part {
    int peer = -1;
    std::vector<char> bytes;
    void* device = nullptr;  ///< where received bytes go
    size_t done = 0;
  };
  int rank = 0, size = 0;
  std::string folder, error;
  std::vector<int> sockets;  ///< by rank
  std::thread work;
  std::atomic<bool> is_working = false, is_ended = false;
  std::atomic<ncclResult_t> state = ncclSuccess;
  Part out, in;
  cudaStream_t stream = nullptr;
};

namespace {

using Part = ncclComm::Part;

thread_local std::vector<ncclComm*> group;  ///< those with a send or receive in the group that is open

void begin(ncclComm* comm, const std::function<ncclResult_t()>& f) {
  if (comm->work.joinable()) comm->work.join();
  comm->is_working = true;
  comm->work = std::thread([comm, f] {
    comm->state = f();
    comm->is_working = false;
  });
}

ncclResult_t failed(ncclComm* comm, ncclResult_t code, const std::string& error) {
  comm->error = error;
  return code;
}

sockaddr_un address(const ncclComm* comm, int rank) {
  sockaddr_un there{};
  there.sun_family = AF_UNIX;
  const std::string path = comm->folder + "/" + std::to_string(rank);
  std::memcpy(static_cast<char*>(there.sun_path), path.c_str(), path.size() + 1);
  return there;
}

int new_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

/// Connects to lower ranks and is called by higher ones, each of which says who it is.
ncclResult_t meet(ncclComm* comm) {
  if (std::getenv("STAND_IN_REFUSES")) return failed(comm, ncclInvalidUsage, "Duplicate GPU detected");
  const int door = new_socket();
  const sockaddr_un own = address(comm, comm->rank);
  if (bind(door, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 || listen(door, comm->size) != 0)
    return failed(comm, ncclSystemError, "no socket");
  for (int lower = 0; lower < comm->rank; ++lower) {
    const int line = comm->sockets[static_cast<size_t>(lower)] = new_socket();
    const sockaddr_un there = address(comm, lower);
    while (connect(line, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) {
      if (comm->is_ended) return ncclSystemError;
      usleep(1000);
    }
    if (write(line, &comm->rank, sizeof comm->rank) != sizeof comm->rank) return ncclSystemError;
  }
  for (int higher = comm->rank + 1; higher < comm->size;) {
    pollfd waiting{door, POLLIN, 0};
    if (comm->is_ended) return ncclSystemError;
    if (poll(&waiting, 1, 10) != 1) continue;
    const int line = accept(door, nullptr, nullptr);
    int rank = 0;
    if (read(line, &rank, sizeof rank) != sizeof rank) return ncclSystemError;
    comm->sockets[static_cast<size_t>(rank)] = line;
    ++higher;
  }
  close(door);
  return ncclSuccess;
}

/// Sends and receives until both are done.
ncclResult_t transfer(ncclComm* comm) {
  while (comm->out.done < comm->out.bytes.size() || comm->in.done < comm->in.bytes.size()) {
    if (comm->is_ended) return ncclSystemError;
    const auto line = [&](const Part& part, short events) {
      const bool is_open = part.done < part.bytes.size();
      return pollfd{is_open ? comm->sockets[static_cast<size_t>(part.peer)] : -1, events, 0};
    };
    pollfd lines[2] = {line(comm->out, POLLOUT), line(comm->in, POLLIN)};
    poll(lines, 2, 10);
    const auto moved = [&](Part& part, ssize_t count) {
      if (count > 0) part.done += static_cast<size_t>(count);
      return count > 0;
    };
    const auto left = [](const Part& part) { return part.bytes.size() - part.done; };
    if (lines[0].revents && !moved(comm->out, send(lines[0].fd, comm->out.bytes.data() + comm->out.done,
                                                   left(comm->out), MSG_DONTWAIT | MSG_NOSIGNAL)))
      return failed(comm, ncclRemoteError, "rank " + std::to_string(comm->out.peer) + " has closed its socket");
    if (lines[1].revents &&
        !moved(comm->in, recv(lines[1].fd, comm->in.bytes.data() + comm->in.done, left(comm->in), MSG_DONTWAIT)))
      return failed(comm, ncclRemoteError, "rank " + std::to_string(comm->in.peer) + " has closed its socket");
  }
  return ncclSuccess;
}

ncclResult_t end(ncclComm* comm) {
  comm->is_ended = true;
  if (comm->work.joinable()) comm->work.join();
  for (const int line : comm->sockets)
    if (line >= 0) close(line);
  unlink(address(comm, comm->rank).sun_path);
  rmdir(comm->folder.c_str());  // by the last one
  delete comm;
  return ncclSuccess;
}

ncclResult_t add(Part ncclComm::*part, void* device, size_t count, int peer, ncclComm* comm, cudaStream_t stream) {
  comm->*part = {peer, std::vector<char>(count), device};
  comm->stream = stream;
  if (group.empty()) group.push_back(comm);
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::strcpy(static_cast<char*>(id->internal), "/tmp/nccl-stand-in-XXXXXX");
  return mkdtemp(static_cast<char*>(id->internal)) ? ncclSuccess : ncclSystemError;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  const ncclConfig_t made = NCCL_CONFIG_INITIALIZER;  // headers up to 2.28 have no name for its magic number
  if (config->magic != made.magic || config->blocking != 0) return ncclInvalidArgument;
  *comm = new ncclComm;
  (*comm)->rank = rank;
  (*comm)->size = size;
  (*comm)->folder = static_cast<const char*>(id.internal);
  (*comm)->sockets.assign(static_cast<size_t>(size), -1);
  begin(*comm, [made = *comm] { return meet(made); });
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = comm->is_working ? ncclInProgress : comm->state.load();
  if (*state != ncclSuccess || !comm->in.device) return ncclSuccess;
  const cudaError_t copied = cudaMemcpyAsync(std::exchange(comm->in.device, nullptr), comm->in.bytes.data(),
                                             comm->in.bytes.size(), cudaMemcpyHostToDevice, comm->stream);
  return copied == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclGroupStart() {
  group.clear();
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t stream) {
  add(&ncclComm::out, nullptr, count, peer, comm, stream);
  if (cudaMemcpyAsync(comm->out.bytes.data(), from, count, cudaMemcpyDeviceToHost, stream) != cudaSuccess ||
      cudaStreamSynchronize(stream) != cudaSuccess)
    return ncclUnhandledCudaError;
  return ncclSuccess;
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t stream) {
  return add(&ncclComm::in, to, count, peer, comm, stream);
}
ncclResult_t ncclGroupEnd() {
  for (ncclComm* comm : group) begin(comm, [comm] { return transfer(comm); });
  group.clear();
  return ncclInProgress;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t comm) { return end(comm); }
ncclResult_t ncclCommAbort(ncclComm_t comm) { return end(comm); }
const char* ncclGetErrorString(ncclResult_t code) {
  return code == ncclRemoteError ? "remote process exited or there was a network error" : "an error of the stand-in";
}
const char* ncclGetLastError(ncclComm_t comm) { return comm ? comm->error.c_str() : ""; }
