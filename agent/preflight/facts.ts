import type { EngineAnswer } from '../runtime/docker/identify.ts';
import type { NetworkFacts } from './decide-network.ts';

/** The results of the preflight probes. Values only: the decision is separate, and tests construct them. */
export interface Facts {
  readonly nodeVersion: string;
  /** 0 is root. */
  readonly uid: number;
  /** Where the Docker Engine is expected: DOCKER_HOST, or the usual socket. */
  readonly dockerAddress: string;
  readonly engine: EngineAnswer;
  /** The controllers that the kernel offers, by name. */
  readonly controllers: readonly string[];
  readonly nowMs: number;
  readonly certificates: readonly CertificateFacts[];
  readonly dataDir: FolderFacts;
  /** Undefined when the engine did not say where it keeps its images. */
  readonly dockerRoot: FolderFacts | undefined;
  /** Undefined: no server is to listen here. */
  readonly port: PortFacts | undefined;
  readonly nodeName: string;
  /** Whether this data directory has run a node of this name before. */
  readonly ranNodeBefore: boolean;
  readonly others: readonly OtherBerth[];
  /** Undefined: pods stay in the engine's network. */
  readonly network: NetworkFacts | undefined;
}

export interface CertificateFacts {
  readonly name: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

export interface FolderFacts {
  readonly path: string;
  /** Why it cannot be used, as the system's code (EROFS, EACCES, ENOTDIR); undefined when it can. */
  readonly errno: string | undefined;
  /** Its owner, where it exists. */
  readonly ownerUid: number | undefined;
  /** Names of files in it that Berth did not make. */
  readonly strangers: readonly string[];
  /** Undefined when the file system does not say. */
  readonly freeBytes: number | undefined;
  readonly freeInodes: number | undefined;
}

export interface PortFacts {
  readonly address: string;
  /**
   * Why it cannot be listened on (EADDRINUSE, EADDRNOTAVAIL, EACCES); undefined when it can,
   * or when our own server does.
   */
  readonly errno: string | undefined;
  /** The process that listens there, if /proc shows it. */
  readonly holder: PortHolder | undefined;
}

export interface PortHolder {
  readonly pid: number;
  readonly command: string;
}

/** A server or agent of Berth that runs on this machine from another data directory. */
export interface OtherBerth {
  readonly name: 'server' | 'agent';
  readonly pid: number;
  readonly dataDir: string;
  /** Of an agent. */
  readonly nodeName: string | undefined;
}
