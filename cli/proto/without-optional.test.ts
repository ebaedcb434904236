import { describe, expect, it } from 'vitest';
import { withoutOptional } from './without-optional.ts';

describe('withoutOptional', () => {
  it.each([
    ['a field becomes a oneof of itself', '  optional int64 generation = 7;', '  oneof _generation { int64 generation = 7; }'],
    [
      'options stay with the field, over lines too',
      '  optional berth.core.v1.A a = 3 [\n    (b) = "merge"\n  ];',
      '  oneof _a { berth.core.v1.A a = 3 [\n    (b) = "merge"\n  ]; }',
    ],
    ['other fields stay', '  string name = 1;\n  repeated A as = 2;', '  string name = 1;\n  repeated A as = 2;'],
    ['comments stay', '  // optional things = 1;', '  // optional things = 1;'],
    ['an extension loses the word', 'extend X {\n  optional bool a = 1;\n}', 'extend X {\n  bool a = 1;\n}'],
  ])('%s', (_, source, expected) => {
    expect(withoutOptional(source)).toBe(expected);
  });
});
