import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completionScripts } from './scripts.ts';

// Real bash with a program in the place of berth that tells what it was asked and answers what the test says.
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-completion-'));
  writeFileSync(join(folder, 'script'), completionScripts.bash);
  writeFileSync(join(folder, 'berth'), '#!/bin/sh\nprintf "%s|" "$@" > "$ASKED"\ncat "$ANSWER"\n');
  chmodSync(join(folder, 'berth'), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Completes a line of which bash has made these words, and tells what it asked and what it offers. */
function complete(line: string, words: readonly string[], answer: string): { asked: string; offered: string[] } {
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const script = `
    source "$FOLDER/script"
    COMP_LINE='${line}' COMP_POINT=${line.length} COMP_WORDS=(${quoted}) COMP_CWORD=${words.length - 1}
    _berth
    cat "$ASKED"; echo; printf '%s\\n' "\${COMPREPLY[@]}"`;
  writeFileSync(join(folder, 'answer'), answer);
  const env = {
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    FOLDER: folder,
    ASKED: join(folder, 'asked'),
    ANSWER: join(folder, 'answer'),
  };
  const [asked = '', ...offered] = execFileSync('bash', ['--norc', '-c', script], { env, encoding: 'utf8' })
    .trimEnd()
    .split('\n');
  return { asked, offered };
}

describe('the script for bash', () => {
  it('asks with all words up to the cursor and offers words without their descriptions', () => {
    expect(complete('berth get po', ['berth', 'get', 'po'], 'pods\tPod\npodgroups\n:\n')).toEqual({
      asked: '__complete|--|get|po|',
      offered: ['pods', 'podgroups'],
    });
  });

  it('asks for a new word behind a space', () => {
    expect(complete('berth get ', ['berth', 'get', ''], 'pods\n:\n').asked).toBe('__complete|--|get||');
  });

  it('offers only what stands behind "=", since bash cuts words there', () => {
    const answer = '--output=json\n--output=yaml\n:\n';
    expect(complete('berth get --output=', ['berth', 'get', '--output', '='], answer)).toEqual({
      asked: '__complete|--|get|--output=|',
      offered: ['json', 'yaml'],
    });
    expect(complete('berth get --output=j', ['berth', 'get', '--output', '=', 'j'], '--output=json\n:\n').offered).toEqual([
      'json',
    ]);
  });

  it('completes files itself when told so', () => {
    const { offered } = complete(`berth apply -f ${folder}/scr`, ['berth', 'apply', '-f', `${folder}/scr`], ':files\n');
    expect(offered).toEqual([`${folder}/script`]);
  });

  it('offers nothing when the program says nothing', () => {
    expect(complete('berth get ', ['berth', 'get', ''], '').offered).toEqual([]);
  });
});
