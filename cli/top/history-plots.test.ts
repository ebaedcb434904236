import { describe, expect, it } from 'vitest';
import type { UsageHistory } from '../../api/generated/types.ts';
import { historyPlots } from './history-plots.ts';
import { checkHistoryFlags, showsUnicode } from './show-history.ts';

const start = new Date(2026, 0, 1, 12).getTime() / 1000;
const history: UsageHistory = {
  nodeName: 'n1',
  times: [0, 15, 30, 45].map((seconds) => ({ seconds: start + seconds })),
  series: [
    { container: '', figure: 'networkReceive', unit: 'bytes/s', values: [Number.NaN, 0, 2048, 4096] },
    { container: 'app', figure: 'cpu', unit: 'cores', values: [Number.NaN, 0.1, 0.2, 0.1] },
    { container: 'app', figure: 'memory', unit: 'bytes', values: [1, 1, 1, 1].map((mebi) => mebi * 1024 * 1024) },
    { container: 'app', figure: 'diskRead', unit: 'bytes/s', values: [Number.NaN, 0, 0, 0] },
    { container: 'app', figure: 'cpuPressure', unit: 'ratio', values: [Number.NaN, 0.5, 0.25, 0] },
    { container: 'side', figure: 'cpu', unit: 'cores', values: [Number.NaN, Number.NaN, 0.2, 0.3] },
    { container: 'side', figure: 'memory', unit: 'bytes', values: [3, 3, 3, 3].map((mebi) => mebi * 1024 * 1024) },
    { container: 'side', figure: 'cpuPressure', unit: 'ratio', values: [Number.NaN, 0, 0.75, 0] },
  ],
};
const options = { width: 40, unicode: true, containers: false };
const titles = (containers: boolean): string[] =>
  historyPlots(history, { ...options, containers })
    .split('\n')
    .filter((line) => line.includes(' now '));

describe('the plots of a pod', () => {
  it('are of all containers together: amounts added up, pressure of the one that waits most, nothing of what stayed 0', () => {
    expect(titles(false)).toEqual([
      'NETWORK RECEIVED(bytes/s)   now 4Ki, mean 2Ki, most 4Ki',
      'CPU(cores)   now 400m, mean 300m, most 400m',
      'MEMORY(bytes)   now 4Mi, mean 4Mi, most 4Mi',
      'WAITING FOR CPU(% of time)   now 0%, mean 42%, most 75%',
    ]);
  });

  it('are one for each container when asked', () => {
    expect(titles(true)).toEqual([
      'NETWORK RECEIVED(bytes/s)   now 4Ki, mean 2Ki, most 4Ki',
      'app: CPU(cores)   now 100m, mean 134m, most 200m',
      'app: MEMORY(bytes)   now 1Mi, mean 1Mi, most 1Mi',
      'app: WAITING FOR CPU(% of time)   now 0%, mean 25%, most 50%',
      'side: CPU(cores)   now 300m, mean 250m, most 300m',
      'side: MEMORY(bytes)   now 3Mi, mean 3Mi, most 3Mi',
      'side: WAITING FOR CPU(% of time)   now 0%, mean 25%, most 75%',
    ]);
  });

  it('stand above the time, and are as wide as asked', () => {
    const [network] = historyPlots(history, options).split('\n\n');
    const lines = network?.split('\n') ?? [];
    expect(lines).toHaveLength(6);
    expect(lines[1]).toMatch(/^ {4}4Ki ┤ .*[⠁-⣿]/);
    expect(lines[4]).toMatch(/^ {6}0 ┤ .*[⠁-⣿]/);
    expect(lines[5]).toBe('         12:00:00               12:00:45');
    for (const line of lines.slice(1)) expect(line.length).toBeLessThanOrEqual(40);
  });

  it('are drawn in ASCII in a locale that has nothing else', () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
    expect(historyPlots(history, { ...options, unicode: false })).toMatch(/^[\x00-\x7f]*$/);
    expect(showsUnicode({ LC_ALL: '', LC_CTYPE: 'POSIX', LANG: 'en_US.UTF-8' })).toBe(false);
    expect(showsUnicode({ LANG: 'de_DE.utf8' })).toBe(true);
    expect(showsUnicode({})).toBe(true);
  });
});

describe('the flags of a history', () => {
  it.each([
    ['web', true, { output: 'yaml' }, '-o does not know "yaml"; it takes json'],
    [undefined, true, {}, '--history is of one: name it'],
    ['web', undefined, { output: 'json' }, '-o is for --history'],
  ])('%s, --history %s, %j: %s', (name, wanted, flags, message) => {
    expect(() => checkHistoryFlags(name, wanted, flags)).toThrow(message);
  });
});
