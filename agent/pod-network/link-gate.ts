import type { NamedPort } from '../../api/kinds/pod/named-ports.ts';
import type { Labels } from '../../api/meta/labels.ts';

/** A pod that is about to be joined to the network. */
export interface JoiningPod {
  readonly uid: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly ports: readonly NamedPort[];
}

/** An address, and the uid of the pod that has it. */
export interface AddressOfPod {
  readonly address: string;
  readonly uid: string;
}

/** What has to know of pods of this node before they can send: network policies. */
export interface LinkGate {
  /** Before the pod's link is made. Throws an Error that says why it may not be yet. */
  admit(address: string, pod: JoiningPod): Promise<void>;
  /** All addresses in use, each time the engine was asked. */
  found(all: readonly AddressOfPod[]): void;
  /** After the link is gone. */
  left(address: string): void;
}
