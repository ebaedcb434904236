import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { growthFlag, restFlag } from './heap-growth.ts';
import { memoryFlags } from './large-heap.ts';

describe('boundHeapGrowth', () => {
  it('uses a flag that this V8 knows: of one that it does not, it only complains on standard error', () => {
    for (const flag of [growthFlag, restFlag, ...Object.values(memoryFlags)])
      expect(execFileSync(process.execPath, [flag, '-p', '1'], { encoding: 'utf8' })).toBe('1\n');
    expect(() => execFileSync(process.execPath, ['--heap-no-such-percent=1', '-p', '1'], { stdio: 'pipe' })).toThrow();
  });
});
