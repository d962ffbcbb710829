export type ListNode<T> = { value: T; previous: ListNode<T> | undefined; next: ListNode<T> | undefined };

/** A doubly linked list: first in, first out, and out of the middle, each in constant time. */
export class LinkedList<T> {
  #first: ListNode<T> | undefined;
  #last: ListNode<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(value: T): ListNode<T> {
    const node: ListNode<T> = { value, previous: this.#last, next: undefined };
    if (this.#last) this.#last.next = node;
    else this.#first = node;
    this.#last = node;
    this.#size += 1;
    return node;
  }

  shift(): T | undefined {
    const node = this.#first;
    if (!node) return undefined;
    this.remove(node);
    return node.value;
  }

  /** `node` must be one of this list's, and in it. */
  remove(node: ListNode<T>): void {
    if (node.previous) node.previous.next = node.next;
    else this.#first = node.next;
    if (node.next) node.next.previous = node.previous;
    else this.#last = node.previous;
    this.#size -= 1;
  }

  clear(): void {
    this.#first = undefined;
    this.#last = undefined;
    this.#size = 0;
  }
}
