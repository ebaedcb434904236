import type { ContainerState, ObservedContainer } from '../runtime.ts';
import { identityOf, type Labels } from './labels.ts';

/** What `GET /containers/json` says of a container, as far as it is read here. */
export interface ListEntry {
  readonly Id: string;
  readonly Image: string;
  readonly ImageID: string;
  readonly Created: number;
  readonly State: string;
  readonly Labels: Labels | null;
  readonly NetworkSettings?: { readonly Networks?: Networks | null } | null;
}

/** What `GET /containers/{id}/json` says, as far as it is read here. */
export interface Inspection {
  readonly Id: string;
  readonly Created: string;
  readonly Image: string;
  readonly Config: {
    readonly Image: string;
    readonly Labels: Labels | null;
    readonly Tty: boolean;
    readonly OpenStdin: boolean;
    readonly WorkingDir: string;
  };
  readonly State: {
    readonly Status: string;
    readonly Running: boolean;
    readonly OOMKilled: boolean;
    readonly Pid: number;
    readonly ExitCode: number;
    readonly Error: string;
    readonly StartedAt: string;
    readonly FinishedAt: string;
  };
  readonly NetworkSettings?: { readonly Networks?: Networks | null } | null;
}

type Networks = Readonly<Record<string, { readonly IPAddress?: string } | null>>;

const states: readonly ContainerState[] = ['created', 'running', 'paused', 'exited', 'dead', 'removing'];

/** The engine's word for a state; "restarting" cannot be (its restart policy is never used) and reads as running. */
export function stateOf(word: string): ContainerState {
  return states.find((state) => state === word) ?? 'running';
}

export function observeInspection(inspection: Inspection): ObservedContainer {
  const { State } = inspection;
  const createdAt = new Date(inspection.Created);
  const startedAt = instantOf(State.StartedAt);
  // The engine leaves a container that it could not start as "created", with its words in Error: it has ended, for us.
  const failed = State.Status === 'created' && State.Error !== '';
  const state = failed ? 'exited' : stateOf(State.Status);
  const ended = state === 'exited' || state === 'dead';
  return {
    ...identityOf(inspection.Config.Labels ?? {}),
    id: inspection.Id,
    state,
    image: inspection.Config.Image,
    imageId: inspection.Image,
    createdAt,
    startedAt,
    finishedAt: ended ? (instantOf(State.FinishedAt) ?? createdAt) : undefined,
    exitCode: ended ? State.ExitCode : undefined,
    oomKilled: State.OOMKilled,
    error: State.Error,
    ip: addressOf(inspection.NetworkSettings?.Networks),
    pid: State.Pid > 0 ? State.Pid : undefined,
  };
}

/** What the list alone says; for containers that are being created, and for those that do not answer an inspect. */
export function observeEntry(entry: ListEntry): ObservedContainer {
  return {
    ...identityOf(entry.Labels ?? {}),
    id: entry.Id,
    state: stateOf(entry.State),
    image: entry.Image,
    imageId: entry.ImageID,
    createdAt: new Date(entry.Created * 1000),
    startedAt: undefined,
    finishedAt: undefined,
    exitCode: undefined,
    oomKilled: false,
    error: '',
    ip: addressOf(entry.NetworkSettings?.Networks),
    pid: undefined,
  };
}

/** The engine writes year 1 for "not yet". */
function instantOf(text: string): Date | undefined {
  const instant = new Date(text);
  return instant.getTime() > 0 ? instant : undefined;
}

function addressOf(networks: Networks | null | undefined): string | undefined {
  for (const network of Object.values(networks ?? {})) {
    if (network?.IPAddress !== undefined && network.IPAddress !== '') return network.IPAddress;
  }
  return undefined;
}
