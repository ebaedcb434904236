import { describe, expect, it } from 'vitest';
import { createLines, timeText } from './lines.ts';

describe('lines', () => {
  it('align values, stack several of them, and say when there is none', () => {
    const lines = createLines();
    lines.field('Name', 'web');
    lines.field('Labels', ['a=b', 'c=d']);
    lines.field('Taints', []);
    lines.field('Message', 'one\ntwo');
    expect(lines.text()).toBe(
      ['Name:     web', 'Labels:   a=b', '          c=d', 'Taints:   <none>', 'Message:  one', '          two', ''].join('\n'),
    );
  });

  it('indent sections, and begin a new column of values behind each heading', () => {
    const lines = createLines();
    lines.field('A', '1');
    lines.section('Containers', (inner) =>
      inner.section('web', (body) => {
        body.field('State', 'Waiting');
        body.field('  Reason', 'CrashLoopBackOff');
        body.line('free text');
      }),
    );
    lines.field('Node-Selectors', '');
    expect(lines.text()).toBe(
      [
        'A:  1',
        'Containers:',
        '  web:',
        '    State:     Waiting',
        '      Reason:  CrashLoopBackOff',
        '    free text',
        'Node-Selectors:  <none>',
        '',
      ].join('\n'),
    );
  });

  it('draw tables without the columns that are empty', () => {
    const lines = createLines();
    lines.table('Events', ['Type', 'Message', 'Reason'], [['Normal', '', 'Started']]);
    lines.table('Conditions', ['Type'], []);
    expect(lines.text()).toBe(
      ['Events:', '  Type    Reason', '  ----    ------', '  Normal  Started', 'Conditions:  <none>', ''].join('\n'),
    );
  });

  it('write times for people', () => {
    expect(timeText('2026-11-21T11:24:08Z')).toBe('Sat, 21 Nov 2026 11:24:08 +0000');
    expect(timeText('whenever')).toBe('whenever');
  });
});
