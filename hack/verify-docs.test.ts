import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { expandFlags } from '../cli/program/flag-words.ts';
import { createProgram } from '../host/main.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const rooms = readdirSync(root).filter(
  (name) => !/^(\.|node_modules|dist|coverage|docs$)/.test(name) && statSync(join(root, name)).isDirectory(),
);
const pages = [
  ...['README.md', 'HACKING.md', 'CHANGELOG.md'],
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
  ...rooms.map((room) => `${room}/README.md`),
];

describe('the documents', () => {
  it('name only files that exist on the walk of a pod', () => {
    const named = [...read('docs/walk-of-a-pod.md').matchAll(/`([a-z-]+\/[a-z0-9./-]+)`/g)].map((match) => match[1] ?? '');
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it.each(pages)('link only to files and headings that exist: %s', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)]+)\)/g)].map((match) => match[1] ?? '');
    expect(links.filter((link) => !leads(page, link))).toEqual([]);
  });

  it('are all reached from the README', () => {
    const reached = new Set<string>();
    const follow = (page: string): void => {
      if (reached.has(page)) return;
      reached.add(page);
      for (const [, link = ''] of read(page).matchAll(/\]\((?!https?:)([^)#]+\.md)[)#]/g)) follow(join(dirname(page), link));
    };
    follow('README.md');
    expect(pages.filter((page) => page.startsWith('docs/') && !reached.has(page))).toEqual([]);
  });

  it.each(pages)('name only commands and flags that exist: %s', async (page) => {
    const program = await createProgram();
    expect(commandLines(read(page)).flatMap((words) => unknownWords(program, words))).toEqual([]);
  });

  it('are really looked at', async () => {
    const lines = pages.flatMap((page) => commandLines(read(page)));
    expect(lines.length).toBeGreaterThan(30);
    const program = await createProgram();
    expect(unknownWords(program, ['fly', '--high'])).toEqual(['berth fly']);
    expect(unknownWords(program, ['get', 'pods', '-n', 'team', '--colour=blue'])).toEqual(['berth get --colour']);
    expect(unknownWords(program, ['config', 'forget'])).toEqual(['berth config forget']);
    expect(unknownWords(program, ['exec', '-it', 'web', '-cmain'])).toEqual([]);
    expect(unknownWords(program, ['exec', '-iz', 'web'])).toEqual(['berth exec -z']);
    expect(leads('README.md', 'docs/concepts.md#a-pod')).toBe(true);
    expect(leads('README.md', 'docs/concepts.md#a-boat')).toBe(false);
  });

  it("name what is not there yet on the README's first screen", () => {
    const screen = read('README.md').split('\n').slice(0, 20).join('\n');
    expect(screen).toMatch(/^Not there yet: /m);
    expect(screen).toContain('(docs/kubectl.md#what-does-not-work)');
  });

  it('say what every room is for, in at most 15 lines', () => {
    for (const room of rooms) expect(read(`${room}/README.md`).trimEnd().split('\n').length, room).toBeLessThanOrEqual(15);
  });
});

function leads(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#', 2);
  const target = path === '' ? page : relative(root, join(root, dirname(page), path));
  if (!existsSync(join(root, target))) return false;
  if (heading === undefined) return true;
  const headings = [...read(target).matchAll(/^#+ (.*)$/gm)].map((match) => slug(match[1] ?? ''));
  return headings.includes(heading);
}

/** The anchor of a heading, as GitHub makes it. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

/** What follows `berth` in code, word by word: in backticks, and in indented lines. */
function commandLines(text: string): string[][] {
  const inline = [...text.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '');
  const blocks = [...text.matchAll(/^ {4,}(.*)$/gm)].map((match) => match[1] ?? '');
  const commands = [...inline, ...blocks].flatMap((code) => [
    ...code.matchAll(/(?:^(?:\$ )?(?:bin\/)?|["(]|\| )berth ([a-z][^|;&#")]*)/g),
  ]);
  return commands.map(([, rest = '']) => rest.split(' -- ')[0]!.trim().split(/\s+/));
}

/** Flags are read as the command line reads them: "-it" is "-i -t", "-ofile" is "-o file". */
function unknownWords(program: Command, line: readonly string[]): string[] {
  const [name = '', ...words] = expandFlags(program, line);
  const command = program.commands.find((each) => each.name() === name);
  if (command === undefined) return [`berth ${name}`];
  const [first = ''] = words;
  const sub = command.commands.find((each) => each.name() === first);
  if (sub === undefined && command.commands.length > 0 && first !== '') return [`berth ${name} ${first}`];
  const options = [program, command, ...(sub ? [sub] : [])].flatMap((each) => each.options);
  const flags = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split('=')[0]!);
  const known = (flag: string): boolean =>
    flag === '--help' || options.some(({ short, long }) => flag === short || flag === long);
  return flags.filter((flag) => !known(flag)).map((flag) => `berth ${name} ${flag}`);
}

describe('hack/verify-docs', () => {
  it('fails on a stale generated page until hack/update-docs, and on prose longer than 120 characters', () => {
    const clone = mkdtempSync(join(tmpdir(), 'berth-docs-'));
    try {
      for (const name of [...rooms.filter((room) => !/^(bench|examples|test|proto|bin)$/.test(room)), 'docs', 'package.json'])
        cpSync(join(root, name), join(clone, name), { recursive: true });
      symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
      const run = (script: string) => spawnSync(process.execPath, [join(clone, 'hack', script)], { encoding: 'utf8' });
      const fields = join(clone, 'api/kinds/config-map/fields.ts');
      writeFileSync(
        fields,
        readFileSync(fields, 'utf8').replace('data: works', "data: { support: 'refused', why: 'it is a test' }"),
      );
      expect(run('verify-docs')).toMatchObject({ status: 1, stderr: expect.stringContaining('docs/manifest-support.md') });
      expect(run('update-docs')).toMatchObject({ status: 0 });
      expect(readFileSync(join(clone, 'docs/manifest-support.md'), 'utf8')).toContain('| `data` | refused | it is a test |');
      const words = 'word '.repeat(25);
      writeFileSync(join(clone, 'docs/long.md'), `| ${words} |\n\n    ${words}\n\n- ${words}\n`);
      // This alone: what was stale is not.
      expect(run('verify-docs')).toMatchObject({ status: 1, stderr: expect.stringMatching(/^\S+ docs\/long.md:5 [^\n]*\n$/) });
    } finally {
      rmSync(clone, { recursive: true, force: true });
    }
    // Three programs that read all documents, one after the other.
  }, 240_000);
});
