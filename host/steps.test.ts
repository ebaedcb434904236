import { describe, expect, it } from 'vitest';
import { createSteps } from './steps.ts';

function record(isTTY: boolean) {
  const texts: string[] = [];
  const errors: string[] = [];
  const to = (list: string[]) => ({ isTTY, write: (text: string) => list.push(text) });
  return { steps: createSteps(to(texts), to(errors)), text: () => texts.join(''), errors: () => errors.join('') };
}

describe('the ticked steps', () => {
  it('are marks with what is waited for in one line that is written over, on a terminal', () => {
    const { steps, text, errors } = record(true);
    steps.wait('waiting');
    steps.wait('waiting');
    steps.ok('done');
    steps.fail('bad', 'do this');
    expect(text()).toBe(
      '\r\u001b[K… waiting\r\u001b[K\u001b[32m✓\u001b[0m done\n\u001b[31m✗\u001b[0m bad\n  to mend it: do this\n',
    );
    expect(errors()).toBe('');
  });

  it('are plain lines elsewhere, failures on the other stream', () => {
    const { steps, text, errors } = record(false);
    steps.wait('waiting');
    steps.wait('waiting');
    steps.ok('done');
    steps.warn('odd', 'look');
    steps.fail('bad', 'do this');
    expect(text()).toBe('waiting\nok: done\nwarning: odd\n    to mend it: look\n');
    expect(errors()).toBe('failed: bad\n    to mend it: do this\n');
  });
});
