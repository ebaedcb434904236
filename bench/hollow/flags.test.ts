import { describe, expect, it, vi } from 'vitest';
import { parseHollowFlags } from './flags.ts';
import { completeHollowOptions } from './options.ts';

describe('the flags of hack/hollow', () => {
  it('are those of nodes that it starts', () => {
    const { count, server, cleanup, options } = parseHollowFlags(
      '500 --server 127.0.0.1:1 --name-prefix n --zones 3 --ready-after 2s --run-for 0s --usage 50 --cleanup'.split(' '),
    );
    expect({ count, server, cleanup }).toEqual({ count: 500, server: '127.0.0.1:1', cleanup: true });
    expect(completeHollowOptions(options)).toEqual({
      ...{ namePrefix: 'n', cpu: '8', memory: '32Gi', pods: 110, zones: 3 },
      ...{ readyAfterMs: 2_000, runForMs: 0, usagePercent: 50 },
    });
  });

  it.each([
    ['', "missing required argument 'N'"],
    ['0', 'it must be a whole number from 1 to 5000'],
    ['five', 'it must be a whole number from 1 to 5000'],
    ['5 --cpu much', 'it must be a quantity, such as 8, 500m or 32Gi'],
    ['5 --ready-after soon', 'it must be a span of time, such as 30s, 5m or 1h30m'],
    ['5 --name-prefix Node_', 'it must be the beginning of a node name'],
    ['5 --pods 0', 'it must be a whole number from 1 to 1000'],
    ['5 --usage 2000', 'it must be a whole number from 0 to 1000'],
    ['5 --colour red', "unknown option '--colour'"],
    ['5 6', 'too many arguments'],
  ])('"%s" is refused: %s', (line, message) => {
    const told: string[] = [];
    const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      told.push(String(text));
      return true;
    });
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => {
      throw new Error('exit');
    });
    try {
      expect(() => parseHollowFlags(line.split(' ').filter((word) => word !== ''))).toThrow('exit');
      expect(exit).toHaveBeenCalledWith(1);
    } finally {
      write.mockRestore();
      exit.mockRestore();
    }
    expect(told.join('')).toContain(message);
  });
});
