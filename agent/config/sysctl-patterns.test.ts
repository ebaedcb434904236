import { describe, expect, it } from 'vitest';
import { sysctlPatternError } from './sysctl-patterns.ts';

describe('a pattern of parameters that a node allows', () => {
  it.each([['net.*'], ['net.core.somaxconn'], ['kernel.shm*'], ['kernel.msgmax'], ['fs.mqueue.*'], ['net.ipv4.conf.*']])(
    'is %s',
    (pattern) => {
      expect(sysctlPatternError(pattern)).toBeUndefined();
    },
  );

  it.each([['vm.swappiness'], ['kernel.*'], ['*'], ['net.* x'], [''], ['kernel.hostname*x']])('is not %s', (pattern) => {
    expect(sysctlPatternError(pattern)).toBeDefined();
  });
});
