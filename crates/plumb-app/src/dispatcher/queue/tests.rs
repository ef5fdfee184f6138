use super::*;

fn job(path: &str) -> (Job, oneshot::Receiver<Answer>) {
    let (reply, receiver) = oneshot::channel();
    (Job::new(Asked::new(hyper::Method::GET, path), reply), receiver)
}

/// Lets `job` wait, and sees to it that it is done.
fn put(queue: &Queue, job: Job) {
    if queue.put(job).unwrap() {
        queue.wake();
    }
}

/// For so many steps of a kind.
fn queue(limit: usize) -> Queue {
    Queue::new(&DispatcherConfig { queue: limit, ..DispatcherConfig::default() })
}

/// What steps of these paths come out as, when each ends before the next begins; those in capitals are
/// background steps.
fn order(config: &DispatcherConfig, paths: &str) -> String {
    let queue = Queue::new(config);
    let kept: Vec<_> = paths
        .chars()
        .map(|path| {
            let (mut job, kept) = job(&format!("/{path}"));
            if path.is_uppercase() {
                job.asked.priority = Priority::Background;
            }
            put(&queue, job);
            kept
        })
        .collect();
    queue.close();
    let mut ended = None;
    let mut order = String::new();
    while let Some(job) = queue.take(ended, || ()) {
        order += &job.asked.request.path()[1..];
        ended = Some(job.asked.priority);
    }
    assert_eq!(kept.len(), order.len());
    order
}

#[test]
fn dialog_steps_come_before_background_steps_but_for_their_share() {
    let config =
        |share| DispatcherConfig { background_share: share, ..DispatcherConfig::default() };
    assert_eq!(order(&config(0), "AabBcd"), "abcdAB");
    assert_eq!(order(&config(50), "AabBcdef"), "aAbBcdef");
    assert_eq!(order(&config(25), "ABabcdefgh"), "abcAdefBgh");
    assert_eq!(order(&config(10), "Aabcdefghijkl"), "abcdefghiAjkl");
    assert_eq!(order(&config(10), "ABC"), "ABC");
}

#[test]
fn background_steps_leave_work_processes_to_dialog_steps() {
    let config =
        DispatcherConfig { work_processes: 3, dialog_reserved: 2, ..DispatcherConfig::default() };
    let queue = Queue::new(&config);
    let background = |path| {
        let (mut job, kept) = job(path);
        job.asked.priority = Priority::Background;
        put(&queue, job);
        kept
    };
    let _kept = [background("/A"), background("/B")];
    let first = queue.take(None, || ()).unwrap();
    assert_eq!(first.asked.request.path(), "/A");
    let (dialog, _kept) = job("/a");
    put(&queue, dialog);
    // the second background step may not begin while the first runs
    assert_eq!(queue.take(None, || ()).unwrap().asked.request.path(), "/a");
    let figures = queue.figures();
    assert_eq!((figures.length, figures.background.length), (1, 1));
    assert_eq!((figures.background.running, figures.background.processes), (1, 1));
    let second = queue.take(Some(Priority::Background), || ()).unwrap();
    assert_eq!(second.asked.request.path(), "/B");
    assert_eq!(queue.figures().background.begun, 2);
}

#[test]
fn a_background_step_begins_when_another_ends_though_all_others_wait() {
    let config =
        DispatcherConfig { work_processes: 3, dialog_reserved: 2, ..DispatcherConfig::default() };
    let queue = Queue::new(&config);
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                let mut ended = None;
                while let Some(job) = queue.take(ended, || ()) {
                    ended = Some(job.asked.priority);
                    let _ = job.reply.send(Answer::new(crate::answer::TEXT, ""));
                }
            });
        }
        for _ in 0..500 {
            let jobs = [job("/A"), job("/B"), job("/c")];
            let done = jobs.map(|(mut job, done)| {
                if job.asked.request.path() != "/c" {
                    job.asked.priority = Priority::Background;
                }
                put(&queue, job);
                done
            });
            // a step that nobody took would be waited for without end
            for done in done {
                done.blocking_recv().unwrap();
            }
        }
        queue.close();
    });
    assert_eq!(queue.figures().background.begun, 1_000);
}

#[test]
fn steps_come_out_in_the_order_in_which_they_came() {
    let queue = queue(2);
    let (first, _kept) = job("/1");
    let (second, _kept_too) = job("/2");
    put(&queue, first);
    put(&queue, second);
    assert_eq!(queue.put(job("/3").0), Err(Refused));
    assert_eq!(queue.take(None, || ()).unwrap().asked.request.path(), "/1");
    assert_eq!(queue.take(None, || ()).unwrap().asked.request.path(), "/2");
    let figures = queue.figures();
    assert_eq!((figures.length, figures.length_max, figures.refused), (0, 2, 1));
    assert_eq!(figures.crowded, 2, "there is no work process at all");
}

#[test]
fn those_that_wait_count_with_their_time_in_the_window() {
    let queue = queue(5);
    let (gone, receiver) = job("/gone");
    drop(receiver);
    let (mut old, _kept) = job("/old");
    let (mut new, _kept_too) = job("/new");
    (old.asked.arrived_ns, new.asked.arrived_ns) = (10, 150);
    for job in [gone, old, new] {
        put(&queue, job);
    }
    let expected = Waiting { steps: 2, sum_ns: 150, longest_ns: 190, ..Waiting::default() };
    assert_eq!(queue.waiting(100, 200), expected);
}

#[test]
fn background_steps_that_may_not_begin_crowd_nobody() {
    let config =
        DispatcherConfig { work_processes: 4, dialog_reserved: 2, ..DispatcherConfig::default() };
    let queue = Queue::new(&config);
    let free = |count| {
        let mut state = queue.lock();
        (state.idle, state.woken) = (count, 0);
    };
    free(4);
    let put = |path, priority| {
        let (mut job, kept) = job(path);
        (job.asked.priority, job.asked.arrived_ns) = (priority, 10);
        queue.put(job).unwrap();
        kept
    };
    let mut kept = vec![put("/A", Priority::Background), put("/B", Priority::Background)];
    let begun = [queue.take(None, || ()).unwrap(), queue.take(None, || ()).unwrap()];
    free(2);
    kept.extend((0..5).map(|_| put("/C", Priority::Background)));
    kept.extend((0..3).map(|_| put("/d", Priority::Dialog)));
    let dialog = (0..3).map(|_| queue.take(None, || ()).unwrap());
    let found: Vec<_> = begun.into_iter().chain(dialog).map(|job| job.found).collect();
    // two of the dialog steps find a work process each, although five steps wait before them
    assert_eq!(found, [Found::Free, Found::Free, Found::Free, Found::Free, Found::Taken]);
    let waiting = queue.waiting(0, 20);
    assert_eq!((waiting.steps, waiting.limited, waiting.limited_ns), (5, 5, 50));
    assert_eq!(queue.figures().crowded, 6);
}

#[test]
fn background_steps_wait_for_a_work_process_where_none_is_free_whatever_they_may_have() {
    for (reserved, idle, expected) in [(0, 0, 0), (1, 0, 0), (0, 3, 0), (1, 3, 1)] {
        let config = DispatcherConfig {
            work_processes: 3,
            dialog_reserved: reserved,
            ..DispatcherConfig::default()
        };
        let queue = Queue::new(&config);
        queue.lock().idle = idle;
        let kept: Vec<_> = (0..3)
            .map(|_| {
                let (mut job, kept) = job("/A");
                job.asked.priority = Priority::Background;
                queue.put(job).unwrap();
                kept
            })
            .collect();
        let limited = queue.waiting(0, 1).limited;
        assert_eq!((limited, kept.len()), (expected, 3), "{reserved} {idle}");
    }
}

#[test]
fn a_step_that_nobody_waits_for_any_more_keeps_no_place() {
    let queue = queue(2);
    let [(gone, answer), (there, _kept), (late, _kept_too)] = [job("/1"), job("/2"), job("/3")];
    put(&queue, gone);
    put(&queue, there);
    let mut waits = Box::pin(queue.answer(answer));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(waits.as_mut().poll(&mut context).is_pending());
    drop(waits);
    let figures = queue.figures();
    assert_eq!((figures.length, figures.abandoned), (1, 1));
    put(&queue, late);
    assert_eq!(queue.take(None, || ()).unwrap().asked.request.path(), "/2");
}

#[test]
fn a_step_whose_client_is_gone_is_left_out() {
    let queue = queue(5);
    let (gone, receiver) = job("/gone");
    drop(receiver);
    let (there, _kept) = job("/there");
    put(&queue, gone);
    put(&queue, there);
    assert_eq!(queue.take(None, || ()).unwrap().asked.request.path(), "/there");
    assert_eq!(queue.figures().abandoned, 1);
}

#[test]
fn every_step_finds_a_process_that_waits() {
    let queue = queue(1_000);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                while let Some(job) = queue.take(None, || ()) {
                    let _ = job.reply.send(Answer::new(crate::answer::TEXT, ""));
                }
            });
        }
        for _ in 0..2_000 {
            let (first, first_done) = job("/1");
            let (second, second_done) = job("/2");
            put(&queue, first);
            put(&queue, second);
            // a step that nobody took would be waited for without end
            first_done.blocking_recv().unwrap();
            second_done.blocking_recv().unwrap();
        }
        queue.close();
    });
    assert_eq!(queue.figures().length, 0);
}

#[test]
fn steps_that_come_at_once_are_done_at_once() {
    let queue = queue(1_000);
    let all_together = std::sync::Barrier::new(4);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                while let Some(job) = queue.take(None, || ()) {
                    all_together.wait(); // a step that waits behind another one would never end
                    let _ = job.reply.send(Answer::new(crate::answer::TEXT, ""));
                }
            });
        }
        for _ in 0..500 {
            let jobs = [job("/1"), job("/2"), job("/3"), job("/4")];
            let done = jobs.map(|(job, done)| {
                put(&queue, job);
                done
            });
            for done in done {
                done.blocking_recv().unwrap();
            }
        }
        queue.close();
    });
}

#[test]
fn a_closed_queue_is_emptied_and_ends() {
    let queue = queue(5);
    let (last, _kept) = job("/last");
    put(&queue, last);
    queue.close();
    assert!(queue.put(job("/late").0).is_err());
    assert!(queue.take(None, || ()).is_some());
    assert!(queue.take(None, || ()).is_none());
}
