import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { createPodHouse, image, type PodHouse } from './pods-fixture.ts';
import { openTerminal, type Terminal } from './pty.ts';

// Commands in a terminal that write and end while they are being joined: each has to show every byte once, the
// unfinished last line too, give its exit code, and give the terminal back. A hundred of each, in a few terminals at
// the same time.
const terminals = [1, 2, 3, 4] as const;
const each = 25;
const tries = Array.from({ length: each }, (_, i) => i + 1);
/** Ends at once, or a moment later: sessions join before, between and after. */
const writes = (nth: string, code: string) =>
  `echo same; echo same; sleep 0.$((${nth} % 5)); echo out-${nth}; printf tail; exit ${code}`;
const written = (nth: number, code: number) => `same\nsame\nout-${nth}\ntailcode=${code} same\n`;

let house: PodHouse;
let folder: string;

const container = (name: string, script: string, more: object = {}) => ({
  ...{ name, image, imagePullPolicy: 'Never' },
  ...{ command: ['sh', '-c', script], ...more },
});
const pod = (name: string, containers: readonly object[]) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
  spec: { terminationGracePeriodSeconds: 0, restartPolicy: 'Never', containers },
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-short-'));
  house = await createPodHouse('short');
  const waits = (nth: number) => container(`c${nth}`, `read go; ${writes(String(nth), '0')}`, { stdin: true, tty: true });
  const counts = 'i=0; while [ ! -e /tmp/enough ]; do i=$((i+1)); echo $i; sleep 0.01; done; echo last';
  await house.apply(
    ...terminals.map((name) => pod(`web${name}`, [container('app', 'sleep 10000')])),
    ...terminals.map((name) => pod(`waits${name}`, tries.map(waits))),
    pod('counts', [container('app', counts), container('other', 'sleep 10000')]),
  );
  for (const name of terminals) await house.running(`web${name}`);
}, 240_000);
afterAll(async () => {
  await house?.berth.purge();
  await rm(folder, { recursive: true, force: true });
}, 120_000);

/**
 * Runs a line of shell, in which $i counts, again and again in each of the terminals;
 * shows what every run left on the screen.
 */
async function repeat(
  line: (terminal: number) => string,
  check: (shown: string, nth: number) => void,
  onTry?: (terminal: Terminal) => void,
): Promise<void> {
  const seen = terminals.map(async (name) => {
    const terminal = await openTerminal(house.berth);
    const script = join(folder, `${name}.sh`);
    const settings = '[ "$(stty -g)" = "$before" ] && echo "code=$code same" || echo "code=$code changed"';
    try {
      await writeFile(
        script,
        `before=$(stty -g)\nfor i in $(seq ${each}); do echo "try $i"; ${line(name)}; code=$?; ${settings}; done\n`,
      );
      terminal.type(`. ${script}\n`);
      for (const nth of tries) {
        await terminal.until(`try ${nth}\n`);
        onTry?.(terminal);
        check(await terminal.until(/code=\d+ \w+\n/), nth);
      }
    } finally {
      terminal.close();
    }
  });
  await Promise.all(seen);
}

const slow = { timeout: 400_000 };

it('exec: a hundred', slow, async () => {
  await repeat(
    (name) => `berth exec -it -q web${name} -- sh -c "${writes('$i', '$((i % 3))')}" 2>/dev/null`,
    (shown, nth) => expect(shown).toBe(written(nth, nth % 3)),
  );
});

it('debug: a hundred', slow, async () => {
  const flags = `-it -q --image=${image} --image-pull-policy=Never`;
  await repeat(
    (name) => `berth debug web${name} ${flags} -c n$i -- sh -c "${writes('$i', '0')}"`,
    (shown, nth) => expect(shown).toBe(written(nth, 0)),
  );
});

it('attach: a hundred', slow, async () => {
  for (const name of terminals) await house.running(`waits${name}`);
  await repeat(
    (name) => `berth attach -it -q waits${name} -c c$i`,
    // What is typed is shown by this terminal or by the container's, depending on how early it comes.
    (shown, nth) => expect(shown.replaceAll('go\n', '')).toBe(written(nth, 0)),
    (terminal) => terminal.type('go\n'),
  );
});

it('attach shows every line from the moment when it has joined, to the last', slow, async () => {
  await house.running('counts');
  const sessions = Array.from({ length: 6 }, () => house.berth.berth(['attach', 'counts', '-c', 'app']));
  const lines = async () => Number((await house.berth.ok('logs', 'counts', '-c', 'app', '--tail=1')).trim());
  const before = await lines();
  await eventually('more is written', async () => (await lines()) > before + 300 || undefined);
  await house.sh('counts', 'touch /proc/1/root/tmp/enough', 'app');
  for (const { code, stdout } of await Promise.all(sessions)) {
    const shown = stdout.trim().split('\n');
    const first = Number(shown[0]);
    expect(code).toBe(0);
    expect(shown).toEqual([...Array.from({ length: shown.length - 1 }, (_, i) => String(first + i)), 'last']);
    expect(shown.length).toBeGreaterThan(2);
  }
});
