import { describe, expect, it } from 'vitest';
import { createLines } from './lines.ts';

describe('lines', () => {
  it('aligns values, stacks several of them, and says when there is none', () => {
    const lines = createLines();
    lines.field('Name', 'web');
    lines.field('Labels', ['a=b', 'c=d']);
    lines.field('Taints', []);
    expect(lines.text()).toBe(
      'Name:              web\nLabels:            a=b\n                   c=d\nTaints:            <none>\n',
    );
  });

  it('indents sections and draws tables', () => {
    const lines = createLines();
    lines.section('Containers', (inner) => inner.field('Image', 'x'));
    lines.table('Events', ['Type', 'Reason'], [['Normal', 'Started']]);
    lines.table('Conditions', ['Type'], []);
    expect(lines.text()).toBe(
      [
        'Containers:',
        '  Image:           x',
        'Events:',
        '  Type    Reason',
        '  ----    ------',
        '  Normal  Started',
        'Conditions:        <none>',
        '',
      ].join('\n'),
    );
  });
});
