import type { ProcessName } from './berth-processes.ts';

// What benchmarks give their processes as well: a module of its own, as all that they import is built into the package.

/**
 * Flags of Node.js. The agent works in short bursts and keeps little: V8 would take 32 MB for its young generation, and
 * needs half as much. The server allocates too fast for that.
 */
export const nodeFlags: Readonly<Record<ProcessName, readonly string[]>> = { server: [], agent: ['--max-semi-space-size=8'] };

/**
 * One arena: the C library would give each thread of Node.js its own, and return little of their memory. Fixed
 * thresholds: by itself it raises both with the largest block that was freed, and the program's own text is one of
 * megabytes. Blocks from the threshold on get pages of their own, which go back at once; for the messages of a server
 * that would cost processor time. An agent mostly reads little: Node.js takes a block of 64 KiB for each read and cuts
 * it to what came. The rest, free only after the next collection, would spread what the agent keeps over three times
 * the memory. Streams that fill their blocks cost it 0.3 ms more for each megabyte.
 */
export function allocatorSettings(name: ProcessName): Record<string, string> {
  const { threshold, trim } = name === 'agent' ? { threshold: 64, trim: 128 } : { threshold: 1024, trim: 1024 };
  return {
    MALLOC_ARENA_MAX: '1',
    MALLOC_MMAP_THRESHOLD_: String(threshold * 1024),
    MALLOC_TRIM_THRESHOLD_: String(trim * 1024),
  };
}
