use std::{fs, process::Command, sync::mpsc, thread, time::Duration};

fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let (tx, rx) = mpsc::channel();
    let threads: Vec<_> = (0..8)
        .map(|i: u64| {
            let tx = tx.clone();
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(1));
                tx.send(i).unwrap()
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    drop(tx);
    assert_eq!(rx.iter().sum::<u64>(), 28);
    let out = Command::new("/bin/echo").arg("hi").output().unwrap();
    assert_eq!(out.stdout, b"hi\n");
    let sub = format!("{dir}/rust");
    fs::create_dir(&sub).unwrap();
    fs::write(format!("{sub}/f"), "x").unwrap();
    fs::copy(format!("{sub}/f"), format!("{sub}/g")).unwrap();
    fs::remove_dir_all(&sub).unwrap();
    println!("rust works");
}
