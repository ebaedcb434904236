import { type ContainerFigures, type DeviceFigures, type Figure, figure } from './figures.ts';
import { countLines, type FieldTarget, numberAt, readFields } from './lines.ts';
import { parsePressure } from './pressure.ts';

export type Controller = 'cpu' | 'cpuacct' | 'memory' | 'blkio' | 'pids' | 'pressure';

/** One file of a cgroup and what is read from it. */
export interface Source {
  readonly controller: Controller;
  /** File names, the best first: kernels differ. The first that is there counts. */
  readonly files: readonly string[];
  /** Read for every sample of the history; the others only for a scrape. */
  readonly often: boolean;
  parse(text: string, into: ContainerFigures): void;
}

/** A file that is one number. */
export function numberFile(controller: Controller, file: string, target: Figure, scale = 1): Source {
  return {
    controller,
    files: [file],
    often: false,
    parse(text, { values }) {
      values[target] = numberAt(text, 0) * scale;
    },
  };
}

/** The largest limit that fits, rounded down to pages, is how version 1 says "none". */
const noLimit = 2 ** 62;

/** A file with one number or "max"; 0 is no limit. */
export function limitFile(controller: Controller, file: string, target: Figure): Source {
  return {
    controller,
    files: [file],
    often: false,
    parse(text, { values }) {
      const value = numberAt(text, 0);
      values[target] = text.startsWith('max') || value >= noLimit ? 0 : value;
    },
  };
}

/** A file of lines "name number". */
export function fieldsFile(controller: Controller, file: string, wanted: ReadonlyMap<string, FieldTarget>): Source {
  return { controller, files: [file], often: false, parse: (text, { values }) => readFields(text, wanted, values) };
}

/** Names in a file and where their numbers go. */
export function fieldTargets(fields: Readonly<Record<string, Figure>>, scale = 1): Map<string, FieldTarget> {
  return new Map(Object.entries(fields).map(([name, target]) => [name, { figure: target, scale }]));
}

export const often = (source: Source): Source => ({ ...source, often: true });

export const processCount: Source = {
  controller: 'pids',
  files: ['cgroup.procs'],
  often: false,
  parse(text, { values }) {
    values[figure.processes] = countLines(text);
  },
};

/** Only ever in the unified hierarchy, which many machines with version 1 have beside the others. */
export const pressureSources: readonly Source[] = [
  pressureFile('cpu.pressure', figure.cpuWaitingSeconds, figure.cpuStalledSeconds),
  pressureFile('memory.pressure', figure.memoryWaitingSeconds, figure.memoryStalledSeconds),
  pressureFile('io.pressure', figure.ioWaitingSeconds, figure.ioStalledSeconds),
];

function pressureFile(file: string, waiting: Figure, stalled: Figure): Source {
  return {
    controller: 'pressure',
    files: [file],
    often: true,
    parse(text, { values }) {
      const { waitingSeconds, stalledSeconds } = parsePressure(text);
      values[waiting] = waitingSeconds;
      values[stalled] = stalledSeconds;
    },
  };
}

/** The figures of one device, made when it is seen for the first time. */
export function deviceOf({ devices }: ContainerFigures, device: string): DeviceFigures {
  const known = devices.get(device);
  if (known !== undefined) return known;
  const made = { device, readBytes: 0, writeBytes: 0, reads: 0, writes: 0 };
  devices.set(device, made);
  return made;
}
