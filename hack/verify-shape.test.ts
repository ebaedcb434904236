import { describe, expect, it } from 'vitest';
// @ts-expect-error a plain script without types
import { importCycles, longFunctions, privateMembers, wideComments } from './shape.js';

const calls = (lines: number): string => '  work();\n'.repeat(lines);

describe('the length of functions', () => {
  it.each([
    ['a declaration', `export function build(): void {\n${calls(69)}}\n`, 'build', 1],
    ['an arrow function', `const build = (): void => {\n${calls(69)}};\n`, 'build', 1],
    ['a method', `class Queue {\n  build(): void {\n${calls(69)}  }\n}\n`, 'build', 2],
    ['a constructor', `class Queue {\n  constructor() {\n${calls(69)}  }\n}\n`, 'constructor', 2],
    ['a property', `export const queue = {\n  build: () => {\n${calls(69)}  },\n};\n`, 'build', 2],
    ['a callback', `subscribe(() => {\n${calls(69)}});\n`, 'anonymous', 1],
    ['nested functions', `function build() {\n  const step = () => {\n${calls(67)}  };\n}\n`, 'build', 1],
  ])('finds %s of 71 lines, and accepts 70', (_title, text, name, line) => {
    expect(longFunctions('a.ts', text)).toEqual([{ name, line, lines: 71 }]);
    expect(longFunctions('a.ts', text.replace('  work();\n', ''))).toEqual([]);
  });

  it('counts neither a class nor the comment above a function', () => {
    const step = `  /**\n${'   * Why.\n'.repeat(70)}   */\n  step(): void {}\n`;
    expect(longFunctions('a.ts', `class Queue {\n${step}${step}}\n`)).toEqual([]);
  });
});

describe('the width of comments', () => {
  const words = 'word '.repeat(30);

  it.each([
    ['a line comment', `// ${words}`],
    ['an indented line comment', `    // ${words}`],
    ['a doc comment of one line', `/** ${words} */`],
    ['a line of a doc comment', `/**\n * ${words}\n */`],
  ])('finds %s that is too wide', (_title, text) => {
    expect(wideComments('a.ts', `const a = 1;\n${text}\n`)).toEqual([text.startsWith('/**\n') ? 3 : 2]);
  });

  it('accepts a comment of 120 characters', () => {
    const comment = `// ${words}`.slice(0, 119);
    expect(wideComments('a.ts', `${comment}x\n`)).toEqual([]);
    expect(wideComments('a.ts', `${comment}xx\n`)).toEqual([1]);
  });

  it.each([
    ['a long address, which cannot be wrapped', `// https://example.com/${'path/'.repeat(30)}`],
    ['long code', `const text = '${words}';`],
    ['the long head of a generator method', `class A {\n  *#walk(text = '${words}') {}\n}`],
    ['a line of a template literal', `const script = \`\n// ${words}\n\`;`],
  ])('accepts %s', (_title, text) => {
    expect(wideComments('a.ts', `${text}\n`)).toEqual([]);
  });
});

describe('private members', () => {
  it('finds fields, methods and accessors, and accepts constructors and names with #', () => {
    const text = [
      'class Queue {',
      '  private readonly size = 1;',
      '  readonly #length = 1;',
      '  private constructor() {}',
      '  private static async take() {}',
      '  private get first() { return this.#length; }',
      '}',
    ].join('\n');
    expect(privateMembers('a.ts', text)).toEqual([2, 5, 6]);
  });

  it('accepts the word elsewhere', () => {
    expect(privateMembers('a.ts', 'const text = `\n  private key\n`;\n')).toEqual([]);
  });
});

describe('cycles of imports', () => {
  const files = (texts: Record<string, string>): Map<string, string> => new Map(Object.entries(texts));

  it('finds two modules of which one imports only a type of the other', () => {
    const cycles = importCycles(
      files({
        'room/a.ts': "import { b } from './inner/b.ts';\nexport type A = typeof b;\n",
        'room/inner/b.ts': "import type { A } from '../a.ts';\nexport const b = (a: A): unknown => a;\n",
      }),
    );
    expect(cycles).toEqual([['room/a.ts', 'room/inner/b.ts']]);
  });

  it('finds a cycle through an export, and through an import() of a type', () => {
    const cycles = importCycles(
      files({
        'a.ts': "export * from './b.ts';\n",
        'b.ts': "export type B = import('./c.ts').C;\n",
        'c.ts': "import './a.ts';\nexport type C = string;\n",
        'd.ts': "import './a.ts';\n",
      }),
    );
    expect(cycles).toEqual([['a.ts', 'b.ts', 'c.ts']]);
  });

  it('joins the cycles that share a module, and keeps others apart', () => {
    const cycles = importCycles(
      files({
        'x.ts': "import './y.ts';\n",
        'y.ts': "import './x.ts';\nimport './a.ts';\n",
        'a.ts': "import './b.ts';\nimport './c.ts';\n",
        'b.ts': "import './a.ts';\n",
        'c.ts': "import './a.ts';\n",
      }),
    );
    expect(cycles).toEqual([
      ['a.ts', 'b.ts', 'c.ts'],
      ['x.ts', 'y.ts'],
    ]);
  });

  it('accepts modules that several others import', () => {
    const texts = { 'a.ts': "import './b.ts';\nimport './c.ts';\n", 'b.ts': "import './c.ts';\n", 'c.ts': "import 'node:fs';\n" };
    expect(importCycles(files(texts))).toEqual([]);
  });
});
