import { expect, it } from 'vitest';
import { changeLogLevel, type LogLevelName } from './log-level.ts';

it.each<[LogLevelName, LogLevelName]>([
  ['info', 'error'],
  ['error', 'info'],
  ['error', 'warn'],
  ['debug', 'info'],
])('warns of a change from %s to %s while warnings are written', (before, after) => {
  let level = before;
  const written: LogLevelName[] = [];
  const control = {
    get: () => level,
    set: (next: LogLevelName) => {
      level = next;
    },
  };
  changeLogLevel(control, after, () => written.push(level));
  expect(level).toBe(after);
  expect(written).toHaveLength(1);
  expect(written).not.toContain('error');
});
