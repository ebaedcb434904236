import type { MetricDefinition, MetricTable } from '../../../api/metrics/index.ts';

/** The labels of everything that is about containers. */
const base = ['container', 'id', 'image', 'name', 'namespace', 'pod'] as const;

const counter = (name: string, help: string, ...more: string[]): MetricDefinition => ({
  name,
  type: 'counter',
  help,
  labels: [...base, ...more],
});
const gauge = (name: string, help: string, ...more: string[]): MetricDefinition => ({
  name,
  type: 'gauge',
  help,
  labels: [...base, ...more],
});
const ofMachine = (name: string, help: string): MetricDefinition => ({ name, type: 'gauge', help, labels: [] });

/** What /metrics/cadvisor says: cAdvisor's names, as the kubelet serves them. docs/metrics.md is made from this. */
export const cadvisorMetrics = {
  cpuUsage: counter('container_cpu_usage_seconds_total', 'Processor time in all.', 'cpu'),
  cpuUser: counter('container_cpu_user_seconds_total', 'Processor time of the programs themselves.'),
  cpuSystem: counter('container_cpu_system_seconds_total', 'Processor time of the kernel for them.'),
  cpuPeriods: counter('container_cpu_cfs_periods_total', 'Periods in which it ran; only with a limit.'),
  cpuThrottledPeriods: counter(
    'container_cpu_cfs_throttled_periods_total',
    'Periods in which it was held back; only with a limit.',
  ),
  cpuThrottled: counter('container_cpu_cfs_throttled_seconds_total', 'How long it was held back; only with a limit.'),
  memoryUsage: gauge('container_memory_usage_bytes', 'Memory in all, file pages included.'),
  memoryWorkingSet: gauge(
    'container_memory_working_set_bytes',
    'Memory that cannot be taken back: usage without inactive file pages.',
  ),
  memoryPeak: gauge('container_memory_max_usage_bytes', 'The most memory that it had; on version 2 from kernel 5.19 on.'),
  memoryCache: gauge('container_memory_cache', 'File pages, in bytes.'),
  memoryRss: gauge('container_memory_rss', 'Memory of its own, without file pages, in bytes.'),
  memorySwap: gauge('container_memory_swap', 'What of it is swapped out, in bytes.'),
  memoryMapped: gauge('container_memory_mapped_file', 'Files that are mapped into memory, in bytes.'),
  memoryKernel: gauge('container_memory_kernel_usage', "The kernel's memory for it, in bytes."),
  memoryActiveFile: gauge('container_memory_total_active_file_bytes', 'File pages that were used lately.'),
  memoryInactiveFile: gauge('container_memory_total_inactive_file_bytes', 'File pages that were not used lately.'),
  memoryFailures: counter('container_memory_failcnt', 'How often it wanted more memory than its limit.'),
  pageFaults: counter(
    'container_memory_failures_total',
    'Page faults (pgfault), and those for which a disk was read (pgmajfault).',
    'failure_type',
    'scope',
  ),
  oomEvents: counter('container_oom_events_total', 'Processes that the kernel killed because memory was at its limit.'),
  processes: gauge('container_processes', 'Processes.'),
  threads: gauge('container_threads', 'Threads.'),
  threadsMax: gauge('container_threads_max', 'How many threads it may have; 0 is without limit.'),
  fsReadBytes: counter('container_fs_reads_bytes_total', 'Bytes that were read from a disk.', 'device'),
  fsWriteBytes: counter('container_fs_writes_bytes_total', 'Bytes that were written to a disk.', 'device'),
  fsReads: counter('container_fs_reads_total', 'Reads from a disk.', 'device'),
  fsWrites: counter('container_fs_writes_total', 'Writes to a disk.', 'device'),
  blockUsage: counter(
    'container_blkio_device_usage_total',
    'Bytes to and from a disk, by operation (Read, Write).',
    'device',
    'major',
    'minor',
    'operation',
  ),
  fsUsage: gauge(
    'container_fs_usage_bytes',
    'What its writable layer takes up on the disk, counted at most once a minute; absent above 5,000 files. With id="/": what is used of the disk of the agent.',
    'device',
  ),
  fsLimit: gauge('container_fs_limit_bytes', 'Size of the disk (id="/" only).', 'device'),
  fsFiles: gauge('container_fs_inodes_total', 'Files that there may be on the disk (id="/" only).', 'device'),
  fsFilesFree: gauge('container_fs_inodes_free', 'Files that there is room for on the disk (id="/" only).', 'device'),
  logUsage: {
    name: 'kubelet_container_log_filesystem_used_bytes',
    type: 'gauge',
    help: 'What its log takes up on the disk, rotated pieces included.',
    labels: ['uid', 'namespace', 'pod', 'container'],
  },
  networkReceiveBytes: counter('container_network_receive_bytes_total', 'Bytes received, of the whole pod.', 'interface'),
  networkReceivePackets: counter('container_network_receive_packets_total', 'Packets received.', 'interface'),
  networkReceiveErrors: counter('container_network_receive_errors_total', 'Errors while receiving.', 'interface'),
  networkReceiveDropped: counter(
    'container_network_receive_packets_dropped_total',
    'Packets dropped while receiving.',
    'interface',
  ),
  networkTransmitBytes: counter('container_network_transmit_bytes_total', 'Bytes sent, of the whole pod.', 'interface'),
  networkTransmitPackets: counter('container_network_transmit_packets_total', 'Packets sent.', 'interface'),
  networkTransmitErrors: counter('container_network_transmit_errors_total', 'Errors while sending.', 'interface'),
  networkTransmitDropped: counter(
    'container_network_transmit_packets_dropped_total',
    'Packets dropped while sending.',
    'interface',
  ),
  cpuWaiting: counter('container_pressure_cpu_waiting_seconds_total', 'How long some of its processes waited for a processor.'),
  cpuStalled: counter('container_pressure_cpu_stalled_seconds_total', 'How long none of them got on for want of a processor.'),
  memoryWaiting: counter('container_pressure_memory_waiting_seconds_total', 'How long some of its processes waited for memory.'),
  memoryStalled: counter('container_pressure_memory_stalled_seconds_total', 'How long none of them got on for want of memory.'),
  ioWaiting: counter('container_pressure_io_waiting_seconds_total', 'How long some of its processes waited for a disk.'),
  ioStalled: counter('container_pressure_io_stalled_seconds_total', 'How long none of them got on because of a disk.'),
  specShares: gauge('container_spec_cpu_shares', 'Its weight when processors are scarce; 1024 is the usual one.'),
  specQuota: gauge('container_spec_cpu_quota', 'Microseconds of processor time in each period; only with a limit.'),
  specPeriod: gauge('container_spec_cpu_period', 'Length of a period in microseconds.'),
  specMemoryLimit: gauge('container_spec_memory_limit_bytes', 'How much memory it may use; 0 is without limit.'),
  specSwapLimit: gauge(
    'container_spec_memory_swap_limit_bytes',
    'How much swap it may use, on version 1 together with its memory; 0 is without limit.',
  ),
  specReservation: gauge('container_spec_memory_reservation_limit_bytes', 'Memory that is protected for it; 0 is none.'),
  startTime: gauge('container_start_time_seconds', 'When it was started, in seconds since the epoch.'),
  lastSeen: gauge('container_last_seen', 'When this page was made, in seconds since the epoch.'),
  cores: ofMachine('machine_cpu_cores', 'Processors of the machine.'),
  memory: ofMachine('machine_memory_bytes', 'Memory of the machine.'),
  swap: ofMachine('machine_swap_bytes', 'Swap space of the machine.'),
} as const satisfies MetricTable;
