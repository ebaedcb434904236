import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { growthFlag, letHeapGrow, restFlag, youngFlags } from './heap-growth.ts';
import { v8Collector } from './idle-collection.ts';
import { memoryFlags } from './large-heap.ts';

const megabyte = 1024 * 1024;

describe('boundHeapGrowth', () => {
  it('uses a flag that this V8 knows: of one that it does not, it only complains on standard error', () => {
    for (const flag of [growthFlag, restFlag, ...Object.values(youngFlags), ...Object.values(memoryFlags)])
      expect(execFileSync(process.execPath, [flag, '-p', '1'], { encoding: 'utf8' })).toBe('1\n');
    expect(() => execFileSync(process.execPath, ['--heap-no-such-percent=1', '-p', '1'], { stdio: 'pipe' })).toThrow();
  });
});

describe('letHeapGrow', () => {
  afterEach(() => letHeapGrow(false));

  it('keeps the room for young objects as it is at rest, and lets it grow with what survives otherwise', async () => {
    const collector = v8Collector();
    const kept: unknown[] = [];
    const work = (): void => {
      for (let made = 0; made < 1_000_000; made++) kept[made % 100_000] = { text: `${made}`, list: [made] };
    };
    letHeapGrow(true);
    collector.shrink();
    await vi.waitFor(() => expect(collector.youngBytes()).toBeLessThan(4 * megabyte));
    work();
    expect(collector.youngBytes()).toBeLessThan(4 * megabyte);
    letHeapGrow(false);
    work();
    expect(collector.youngBytes()).toBeGreaterThan(8 * megabyte);
  });
});
